// Which workers stay, parked, while members of their round change. Pure. docs/rounds.md, "The life
// of a round".
#pragma once

#include "base/rank_list.hpp"
#include "rendezvous/rounds/job_state.hpp"
#include "rendezvous/rounds/roster.hpp"

namespace ddprun {

/// So many changes in a row keep the workers, with no further step of theirs behind them.
inline constexpr int kChangesInPlaceMax = 3;

/// Whether workers of the round may stay: where all of them can, for who stays goes on with another
/// state than who is started anew. After some changes behind which nobody has come any further all
/// are started anew: that mends more.
bool may_keep(const Roster& nodes, const JobState& job);

/// The local ranks of the node's workers that are among these ranks of its round.
RankList local_ranks_in(const Roster::Node& node, const RankList& ranks);

}  // namespace ddprun
