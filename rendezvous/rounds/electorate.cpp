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

bool Electorate::elects(const Votes& votes) const {
  if (!exists()) return false;
  const bool of_settled = votes.settled >= votes_to_win(settled.nodes);
  const bool of_started = !has_two() || votes.started >= votes_to_win(started.nodes);
  return of_settled && of_started;
}

int Electorate::missing(const Votes& votes) const {
  const int of_started = has_two() ? started.nodes - votes.started : 0;
  return std::max(settled.nodes - votes.settled, of_started);
}

bool is_member(const Standing& agent, const RoundName& round) {
  const auto in = [&](const KnownRound& known) { return known.member && known.name == round; };
  return in(agent.settled) || in(agent.started);
}

}  // namespace ddprun
