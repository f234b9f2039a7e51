#include "rendezvous/leadership/commitment.hpp"

#include <algorithm>
#include <vector>

#include "base/numbers.hpp"

namespace ddprun {

bool Commitment::hear(const VoterState& voter) {
  const JointQuorum before = quorum_;
  quorum_.hear(voter);
  return quorum_ != before;
}

std::string Commitment::awaited(const VoterTable& voters) const {
  std::vector<int> ranks;
  voters.for_each([&](const Voter& voter) {
    const int rank = rank_in(voter.state, quorum_.committed.version);
    if (voter.follows() && rank >= 0) ranks.push_back(rank);
  });
  std::ranges::sort(ranks);
  std::string list = format_number_list(ranks);
  return list.size() <= kRankListBytesMax ? list : "";
}

/// No node can have voted before the first configuration, so it is committed at once.
void Commitment::propose(const Configuration& round, VoterTable& voters) {
  quorum_.proposed = round;
  quorum_.awaited.clear();
  if (!quorum_.exists()) quorum_.committed = round;
  unaware_ = 0;
  pending_ = true;
  voters.for_each([&](Voter& voter) {
    if (!voter.follows()) return;
    VoterState& state = voter.state;
    if (state.proposed.version == quorum_.committed.version) state.committed = state.proposed;
    state.proposed = round;
    voter.aware = false;
    ++unaware_;
  });
}

bool Commitment::knows(Voter& voter, const ConfigurationVersion& version) {
  if (voter.aware || version != quorum_.proposed.version) return false;
  voter.aware = true;
  --unaware_;
  if (!pending_ || unaware_ > 0) return false;
  pending_ = false;
  quorum_.committed = quorum_.proposed;
  return true;
}

void Commitment::lose(const Voter& voter) {
  if (voter.aware) return;
  pending_ = false;
  --unaware_;
}

}  // namespace ddprun
