#include "rendezvous/rounds/electorate.hpp"

#include <algorithm>

namespace ddprun {

void Electorate::hear(const Standing& voter) {
  const auto later = [](KnownRound& known, const KnownRound& told) {
    if (told.name > known.name) known = told;
  };
  later(settled, voter.settled);
  later(started, voter.started);
}

void Electorate::count(Votes& votes, const Standing& voter) const {
  if (is_member(voter, settled.name)) ++votes.settled;
  if (has_two() && is_member(voter, started.name)) ++votes.started;
}

void Electorate::count_gone(Votes& gone, const Standing& voter) const {
  const auto known = [&](const RoundName& round) {
    if (voter.started.name == round) return voter.started_gone;
    return voter.settled.name == round ? voter.settled_gone : 0;
  };
  gone.settled = std::max(gone.settled, known(settled.name));
  if (has_two()) gone.started = std::max(gone.started, known(started.name));
}

bool Electorate::elects(const Votes& votes, const Votes& gone) const {
  const auto decide = [](const KnownRound& round, int here, int dead) {
    const bool all = here > 0 && here + dead >= round.nodes && dead < votes_to_win(round.nodes);
    return all || here >= votes_to_win(round.nodes);
  };
  return exists() && decide(settled, votes.settled, gone.settled) &&
         (!has_two() || decide(started, votes.started, gone.started));
}

int Electorate::missing(const Votes& votes, const Votes& gone) const {
  const int of_started = has_two() ? started.nodes - votes.started - gone.started : 0;
  return std::max(settled.nodes - votes.settled - gone.settled, of_started);
}

bool is_member(const Standing& agent, const RoundName& round) {
  const auto in = [&](const KnownRound& known) { return known.member && known.name == round; };
  return in(agent.settled) || in(agent.started);
}

}  // namespace ddprun
