// PartClient: gets parts of checkpoints from a PartServer of another node. All functions block, for
// as long as the other node gives something.
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "agent/checkpoints/folder_files.hpp"
#include "agent/checkpoints/pace.hpp"
#include "agent/checkpoints/part_request.hpp"
#include "agent/checkpoints/snapshot.hpp"
#include "base/asio.hpp"
#include "base/endpoint.hpp"
#include "base/result.hpp"
#include "rendezvous/transport/channel.hpp"
#include "rendezvous/transport/tls.hpp"

namespace ddprun {

/// A node that gives nothing for that long is given up.
inline constexpr std::chrono::seconds kPartPatience{10};

class PartClient {
 public:
  /// Connects to the node that has that part. Errors: kUnavailable, kTimeout, kDenied, with a
  /// sentence.
  static Result<std::unique_ptr<PartClient>> connect(const PartSource& source,
                                                     const std::shared_ptr<const TlsContext>& tls);
  ~PartClient();
  PartClient(const PartClient&) = delete;

  /// The list of that part's files. Errors: kUnavailable, kTimeout; kInvalid for no such list.
  Result<Snapshot> list(const CheckpointPart& part, Pace& pace);

  /// Writes a file of that part's list to `to`, a new file. Errors: kUnavailable, kTimeout;
  /// kInvalid where it has another digest than in the list. Then `to` is not there.
  Result<void> get(const CheckpointPart& part, const KeptFile& file,
                   const std::filesystem::path& to, Pace& pace);

 private:
  class Taker;

  explicit PartClient(const PartSource& source);
  Result<void> ask(const CheckpointPart& part, const std::string& file, TakePiece take, Pace& pace);

  const std::string endpoint_;
  const std::string ticket_;
  asio::io_context io_;
  std::shared_ptr<Channel> channel_;
};

}  // namespace ddprun
