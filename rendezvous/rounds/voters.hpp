// What leadership hears of a node, and says of its workers. Pure.
#pragma once

#include "rendezvous/leadership/leadership.hpp"
#include "rendezvous/rounds/roster.hpp"

namespace ddprun {

/// A node has joined. `resumed`: its workers run on.
VoterJoined voter_joined(const Roster::Node& node, bool resumed);

/// Whether the workers of the node may outlive its connection.
bool outlives(const Roster::Node& node, const Leadership& leadership);

}  // namespace ddprun
