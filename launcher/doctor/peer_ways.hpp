// By which addresses the other nodes are to try a node. Pure.
#pragma once

#include <vector>

#include "launcher/doctor/doctor_messages.hpp"

namespace ddprun {

/// Returns the address that ssh has reached, and those that Gloo, NCCL and IPv6 would use where
/// they are others.
std::vector<Peer> ways_to(const Examined& node);

}  // namespace ddprun
