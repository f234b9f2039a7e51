// PeerNames: what this node's resolver says of the other nodes' names.
#pragma once

#include <optional>
#include <vector>

#include "base/process/asked_child.hpp"
#include "launcher/doctor/doctor_messages.hpp"
#include "launcher/doctor/reading.hpp"

namespace ddprun {

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
  std::optional<AskedChild> child_;
};

}  // namespace ddprun
