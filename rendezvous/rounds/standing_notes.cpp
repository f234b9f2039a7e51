#include "rendezvous/rounds/standing_notes.hpp"

#include <algorithm>
#include <utility>

namespace ddprun {

namespace {

void settle(VoterState& voter, const Configuration& round) {
  if (round.version > voter.committed.version) voter.committed = round;
}

}  // namespace

bool may_lead(const VoterState& voter, const Joined& answer) {
  return answer.epoch == 0 ? voter.epoch == 0
                           : answer.epoch >= std::max(voter.epoch, voter.promised);
}

/// A node that was not in the settled round has to know of it, too: without its nodes nobody is
/// elected.
void note_round(VoterState& voter, const Configuration& started, Configuration settled) {
  const Configuration before = std::exchange(voter.proposed, started);
  settled.member = false;
  settled.rank = -1;
  for (const Configuration& known : {before, started})
    if (known.version == settled.version) {
      settled.member = known.member;
      settled.rank = known.rank;
    }
  settle(voter, settled);
}

void note_voters(VoterState& voter, const Configuration& round) {
  if (round.version > voter.proposed.version) voter.proposed = round;
}

void note_settled(VoterState& voter, const Beat& beat) {
  const ConfigurationVersion settled{beat.epoch, beat.committed, beat.revision};
  if (beat.committed == 0) return;
  if (voter.proposed.version == settled)
    settle(voter, voter.proposed);
  else if (beat.committed_nodes > 0 && voter.proposed.version < settled)
    settle(voter, Configuration{.version = settled, .voters = beat.committed_nodes});
}

}  // namespace ddprun
