#include "rendezvous/rounds/standing_notes.hpp"

#include <algorithm>
#include <utility>

namespace ddprun {

namespace {

void settle(Standing& standing, const KnownRound& round) {
  if (round.name > standing.settled.name) standing.settled = round;
}

}  // namespace

bool may_lead(const Standing& standing, const Joined& answer) {
  return answer.epoch == 0 ? standing.epoch == 0
                           : answer.epoch >= std::max(standing.epoch, standing.promised);
}

/// A node that was not in the settled round has to know of it, too: without its nodes nobody is
/// elected.
void note_round(Standing& standing, const KnownRound& started, KnownRound settled) {
  const KnownRound before = std::exchange(standing.started, started);
  settled.member = false;
  settled.rank = -1;
  for (const KnownRound& known : {before, started})
    if (known.name == settled.name) {
      settled.member = known.member;
      settled.rank = known.rank;
    }
  settle(standing, settled);
}

void note_voters(Standing& standing, const KnownRound& round) {
  if (round.name > standing.started.name) standing.started = round;
}

void note_settled(Standing& standing, const Beat& beat) {
  const RoundName settled{beat.epoch, beat.settled, beat.edition};
  if (beat.settled == 0) return;
  if (standing.started.name == settled)
    settle(standing, standing.started);
  else if (beat.settled_nodes > 0 && standing.started.name < settled)
    settle(standing, KnownRound{.name = settled, .nodes = beat.settled_nodes});
}

}  // namespace ddprun
