// Whether nodes reach each other: one listens and sends back what it gets, the others connect.
#pragma once

#include <string>
#include <vector>

#include "base/process/child_server.hpp"
#include "base/result.hpp"
#include "launcher/doctor/doctor_messages.hpp"
#include "launcher/doctor/reading.hpp"

namespace ddprun {

/// Starts a process of this node that listens at a free port of all addresses. A peer that does not
/// begin with `token` gets nothing back. To be called while there is one thread. Errors:
/// kUnavailable.
Result<ChildServer> start_echo(const std::string& token);

/// Connects to all peers, each for a few seconds: to all at the same time, or to as many as this
/// process may have open files. Those for which there was no time within 12 s are left out.
std::vector<LinkReading> visit_peers(const std::vector<Peer>& peers, const std::string& token,
                                     const std::vector<InterfaceReading>& interfaces);

}  // namespace ddprun
