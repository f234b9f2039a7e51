// What this node's resolver and the name servers say of names: its own, and those of the other
// nodes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/process/asked_child.hpp"
#include "launcher/doctor/doctor_messages.hpp"
#include "launcher/doctor/reading.hpp"

namespace ddprun {

/// Looks for the addresses of a name (getaddrinfo(3)), or for the name of an address
/// (getnameinfo(3)). It waits for as long as the resolver does, at least 5 s for a server that is
/// dead.
LookupReading look_up_name(const std::string& name);
LookupReading look_up_address(const std::string& address);

/// Returns the addresses of the name servers in the text of /etc/resolv.conf (resolv.conf(5)).
std::vector<std::string> name_servers_in(const std::string& text);

/// Asks all name servers at the same time, each for 1 s. Any answer will do.
std::vector<NameServerReading> ask_name_servers(const std::vector<std::string>& addresses);

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
  std::optional<AskedChild> child_;
};

}  // namespace ddprun
