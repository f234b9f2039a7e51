// The seats that a node's workers have in a round: their ranks, and which of them are vacant. Pure.
#pragma once

#include <string>

#include "base/numbers.hpp"
#include "rendezvous/messages/round_messages.hpp"

namespace ddprun {

/// The local ranks that a list such as StartRound's `vacant` names, of a node with that many
/// workers.
RankList seats_in(const std::string& list, int workers);

/// How many of the node's workers are in a round in which these seats are vacant.
int workers_in(const std::string& vacant, int workers);

/// The rank of the node's worker. That of one which starts beside the round is not its own: it is a
/// number that no worker in the round has.
int rank_of(const StartRound& round, int local_rank);

/// The worker of the node that has this rank; -1: none has.
int local_rank_of(const StartRound& round, int workers, int rank);

}  // namespace ddprun
