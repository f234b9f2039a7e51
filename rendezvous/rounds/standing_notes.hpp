// What one who takes orders in a job notes of them in its VoterState: an agent, or a witness. Pure.
// docs/protocol.md, section "Who may give orders".
#pragma once

#include "rendezvous/wire/messages.hpp"

namespace ddprun {

/// Whether who has admitted it may give it orders.
bool may_lead(const VoterState& voter, const Joined& answer);

/// It is told of the round `started`, when `settled` was the last one of which all its nodes knew.
/// Of that only the name and the number of nodes are told: whether it was in it, it knows itself.
void note_round(VoterState& voter, const Configuration& started, Configuration settled);

/// Others vote in the round that it was told of last, or in one of which a witness hears only now.
void note_voters(VoterState& voter, const Configuration& round);

/// All nodes of a round know of it, as a coordinator's beat says. Who came when that had been begun
/// knows it from here, and that the job is no new one.
void note_settled(VoterState& voter, const Beat& beat);

}  // namespace ddprun
