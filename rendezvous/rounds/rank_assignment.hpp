// Decides who gets a place in the next round, and which rank. Pure.
#pragma once

#include <string_view>
#include <vector>

#include "rendezvous/leadership/coordinator_rules.hpp"
#include "rendezvous/rounds/roster.hpp"

namespace ddprun {

/// Whether `a` comes before `b` when runs of digits count as numbers and leading zeros do not.
bool naturally_before(std::string_view a, std::string_view b);

/// Chooses at most MAX of the ready nodes: first those of the round before, then by arrival. Those
/// that are about to go come last. Those that still wait for their workers are left out while there
/// are MIN others, and so are those against which something is.
std::vector<Roster::Node*> choose_members(Roster& nodes, const CoordinatorRules& rules);

/// Returns the node that waits for a place in the round that runs, and would get the first one that
/// is free; "": there is none.
NodeId first_spare(const Roster& nodes);

/// Gives every rank to the node that asked for it, else to the one that had it, else to a newcomer,
/// in the order of their host names and then of their arrival. The result's index is the rank.
std::vector<Roster::Node*> order_by_rank(std::vector<Roster::Node*> members);

}  // namespace ddprun
