#include "rendezvous/leadership/joint_quorum.hpp"

#include <algorithm>
#include <utility>

#include "base/numbers.hpp"
#include "rendezvous/messages/message_limits.hpp"

namespace ddprun {

void JointQuorum::hear(const VoterState& voter) {
  if (voter.committed.version > committed.version) committed = voter.committed;
  const Configuration& told = voter.proposed;
  const bool is_later = told.version > proposed.version && told.version > abandoned;
  const bool tells_more =
      told.version == proposed.version && proposed.awaited.empty() && !told.awaited.empty();
  if (!is_later && !tells_more) return;
  proposed = told;
  auto ranks = parse_number_list(told.awaited, kNodesMax);
  awaited = ranks ? std::move(*ranks) : std::vector<int>{};
}

void JointQuorum::abandon_proposal() {
  abandoned = proposed.version;
  proposed = committed;
  awaited.clear();
}

void JointQuorum::count(Votes& votes, const VoterState& voter) const {
  if (is_member(voter, committed.version)) ++votes.committed;
  if (!is_joint()) return;
  if (is_member(voter, proposed.version)) ++votes.proposed;
  const bool knows_of_it = voter.proposed.version >= proposed.version;
  if (!knows_of_it && std::ranges::binary_search(awaited, rank_in(voter, committed.version)))
    ++votes.unaware;
}

bool JointQuorum::elects(const Votes& votes) const {
  return exists() && votes.committed >= votes_to_win(committed.voters) &&
         (!is_joint() || votes.unaware > 0 || votes.proposed >= votes_to_win(proposed.voters));
}

int JointQuorum::missing(const Votes& votes) const {
  return latest().voters - (is_joint() ? votes.proposed : votes.committed);
}

int rank_in(const VoterState& voter, const ConfigurationVersion& version) {
  for (const Configuration& known : {voter.committed, voter.proposed})
    if (known.member && known.version == version) return known.rank;
  return -1;
}

bool knows_a_round(const VoterState& voter) {
  return voter.proposed.version.round > 0 || voter.committed.version.round > 0;
}

bool is_member(const VoterState& voter, const ConfigurationVersion& version) {
  const auto in = [&](const Configuration& c) { return c.member && c.version == version; };
  return in(voter.committed) || in(voter.proposed);
}

}  // namespace ddprun
