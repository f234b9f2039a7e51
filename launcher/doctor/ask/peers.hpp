// What this node sees of the others: whether it reaches them, whom their names lead to, and whether
// they share its folders.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/process/query_process.hpp"
#include "launcher/doctor/ask/doctor_messages.hpp"
#include "launcher/doctor/read/reading.hpp"

namespace ddprun {

/// Connects to the echoes of all peers, each for a few seconds: to all at the same time, or to as
/// many as this process may have open files. Those for which there was no time within 12 s are left
/// out.
std::vector<LinkReading> visit_peers(const std::vector<Peer>& peers, const std::string& token,
                                     const std::vector<InterfaceReading>& interfaces);

/// PeerNames: what this node's resolver says of the other nodes' names.
class PeerNames {
 public:
  /// Begins to look up the names of those peers that have one. To be called while there is one
  /// thread.
  explicit PeerNames(const std::vector<Peer>& peers);

  /// Waits for the answers. A name without one in time has a reading without a time. There are no
  /// readings if no process could look names up.
  std::vector<PeerNameReading> answers();

 private:
  std::vector<PeerNameReading> readings_;
  std::optional<QueryProcess> child_;
};

/// SharedFile: a small file in a folder, which the other nodes look for: do they share it?
class SharedFile {
 public:
  /// Makes the file, whose name says the run and the node. An empty `folder`: there is none.
  SharedFile(const std::string& folder, const std::string& token, const std::string& node);
  SharedFile(const SharedFile&) = delete;
  SharedFile& operator=(const SharedFile&) = delete;
  /// Removes it.
  ~SharedFile();

  /// Returns the nodes whose files are there; nullopt when this one could not write its own.
  std::optional<std::vector<std::string>> owners() const;

 private:
  std::filesystem::path folder_;
  std::string prefix_;
  std::filesystem::path path_;  // empty: there is none
};

}  // namespace ddprun
