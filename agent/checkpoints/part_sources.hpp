// PartSources: the nodes that have the parts of a checkpoint in memory. Of those that have the same
// part, one is asked after the other until one has given it. All functions block.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "agent/checkpoints/pace.hpp"
#include "agent/checkpoints/part_client.hpp"
#include "agent/checkpoints/snapshot.hpp"
#include "base/result.hpp"
#include "rendezvous/messages/checkpoint_messages.hpp"
#include "rendezvous/transport/tls.hpp"

namespace ddprun {

class PartSources {
 public:
  /// `node`: a number of this node. Nodes with different ones begin with different sources.
  PartSources(const std::vector<PartSource>& sources, std::shared_ptr<const TlsContext> tls,
              int node);

  /// One of each part.
  std::vector<CheckpointPart> parts() const;

  // Both may be called by several threads. Errors: those of PartClient of the last one that was
  // asked.
  Result<Snapshot> list(int part, Pace& pace);
  Result<void> get(int part, const KeptFile& file, const std::filesystem::path& to, Pace& pace);

  /// Sentences: what was wrong with sources that others could replace, or not.
  std::vector<std::string> complaints() const;

 private:
  using Ask = std::function<Result<void>(PartClient& client, const CheckpointPart& part)>;

  Result<void> ask_one(int part, const Ask& ask);
  Result<std::unique_ptr<PartClient>> client_of(const PartSource& source);

  const std::shared_ptr<const TlsContext> tls_;
  std::map<int, std::vector<PartSource>> sources_;  // by part, in the order in which they are asked
  mutable std::mutex mutex_;
  std::map<std::string, std::vector<std::unique_ptr<PartClient>>> idle_;  // by endpoint
  std::vector<std::string> complaints_;
};

}  // namespace ddprun
