#include "rendezvous/rounds/electorate.hpp"

#include <algorithm>
#include <utility>

#include "base/number_list.hpp"
#include "rendezvous/wire/message_limits.hpp"

namespace ddprun {

void Electorate::hear(const Standing& voter) {
  if (voter.settled.name > settled.name) settled = voter.settled;
  const KnownRound& told = voter.started;
  const bool is_later = told.name > started.name && told.name > never_settles;
  const bool tells_more =
      told.name == started.name && started.awaited.empty() && !told.awaited.empty();
  if (!is_later && !tells_more) return;
  started = told;
  auto ranks = parse_number_list(told.awaited, kNodesMax);
  awaited = ranks ? std::move(*ranks) : std::vector<int>{};
}

void Electorate::forget_started() {
  never_settles = started.name;
  started = settled;
  awaited.clear();
}

void Electorate::count(Votes& votes, const Standing& voter) const {
  if (is_member(voter, settled.name)) ++votes.settled;
  if (!has_two()) return;
  if (is_member(voter, started.name)) ++votes.started;
  const bool knows_of_it = voter.started.name >= started.name;
  if (!knows_of_it && std::ranges::binary_search(awaited, rank_in(voter, settled.name)))
    ++votes.unaware;
}

bool Electorate::elects(const Votes& votes) const {
  return exists() && votes.settled >= votes_to_win(settled.nodes) &&
         (!has_two() || votes.unaware > 0 || votes.started >= votes_to_win(started.nodes));
}

int Electorate::missing(const Votes& votes) const {
  return std::max(settled.nodes - votes.settled, has_two() ? started.nodes - votes.started : 0);
}

int rank_in(const Standing& agent, const RoundName& round) {
  for (const KnownRound& known : {agent.settled, agent.started})
    if (known.member && known.name == round) return known.rank;
  return -1;
}

bool knows_a_round(const Standing& agent) {
  return agent.started.name.round > 0 || agent.settled.name.round > 0;
}

bool is_member(const Standing& agent, const RoundName& round) {
  const auto in = [&](const KnownRound& known) { return known.member && known.name == round; };
  return in(agent.settled) || in(agent.started);
}

}  // namespace ddprun
