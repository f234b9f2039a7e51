// Decides who gets a place in the next round, and which rank. Pure.
#pragma once

#include <vector>

#include "rendezvous/rounds/roster.hpp"

namespace ddprun {

/// Chooses at most `nodes_max` of the ready nodes: first those of the round before, then by
/// arrival. Those that are about to go come last.
std::vector<Roster::Node*> choose_members(Roster& nodes, int nodes_max);

/// Gives every rank to the node that asked for it, else to the one that had it, else to a newcomer,
/// in the order of their host names and then of their arrival. The result's index is the rank.
std::vector<Roster::Node*> order_by_rank(std::vector<Roster::Node*> members);

}  // namespace ddprun
