// What this node's resolver and the name servers say of names.
#pragma once

#include <sys/socket.h>

#include <string>
#include <vector>

#include "launcher/doctor/read/reading.hpp"

namespace ddprun {

/// Returns an address of IPv4 or IPv6 in digits; "": it is none.
std::string numeric_address(const sockaddr& address);

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
