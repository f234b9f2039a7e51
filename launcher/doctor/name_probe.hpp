// Asks the system's resolver and the name servers.
#pragma once

#include <string>
#include <vector>

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

}  // namespace ddprun
