// What a round has to do with nodes that are not in it: which are left out, which failed, and which
// wait. Pure.
#pragma once

#include <vector>

#include "rendezvous/rounds/rounds.hpp"

namespace ddprun {

/// Takes down the objections to each node, and asks for what is remembered of it elsewhere. Strikes
/// grow old, and others are forgiven: so this is done for each round again.
void judge_nodes(const Rounds::Context& context, TimePoint now);

/// Hears what is remembered elsewhere. Returns the nodes that wait, and against which nothing is
/// any more: they may join the round that runs.
std::vector<Roster::Node*> excused_by(const NodesRecalled& answer, NodeHistory& history,
                                      Roster& nodes, TimePoint now);

/// The node has looked at itself. Returns whether it waits, and nothing is against it any more: it
/// may join the round that runs.
bool is_fit_again(const Fitness& fitness, Roster::Node& node, const NodeHistory& history,
                  Roster& nodes);

/// Nodes that are ready beside the round, and whose workers do not just start.
std::vector<Roster::Node*> nodes_that_wait(Roster& nodes);

/// Remembers the node that was the cause of the failure of the round that has just stopped.
void remember_failure(const Rounds::Context& context, TimePoint now);

/// The round has begun with that many nodes. Those that have no place in it wait for one.
void tell_those_who_wait(const Rounds::Context& context, const Rounds& rounds, int nodes);

}  // namespace ddprun
