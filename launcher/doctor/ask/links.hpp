// The way between two nodes: one listens, the other one connects, and measures how fast it is.
//
// A connection begins with the token and, where something is measured, a letter, which says what it
// is for. The receiver decides how long a measurement takes, and closes the connection.
#pragma once

#include <string>

#include "base/process/child_server.hpp"
#include "base/result.hpp"
#include "launcher/doctor/ask/doctor_messages.hpp"
#include "launcher/doctor/bench/measurements.hpp"

namespace ddprun {

// These start a process of this node that listens at a free port of all addresses. A peer that does
// not begin with `token` gets nothing back. To be called while there is one thread. Errors:
// kUnavailable.

/// It sends back what it gets, to visit_peers() of other nodes.
Result<ChildServer> start_echo(const std::string& token);

/// It is the other end of their measure_link().
Result<ChildServer> start_link_server(const std::string& token);

/// Measures the way to a link server for about 1 s, and for kLinkTimeoutS at most.
LinkSpeed measure_link(const std::string& from, const Peer& to, const std::string& token);

inline constexpr int kLinkTimeoutS = 10;

}  // namespace ddprun
