#include "rendezvous/leadership/joint_quorum.hpp"

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

constexpr ConfigurationVersion kFirst{1, 1};
constexpr ConfigurationVersion kSecond{1, 2};

VoterState in(const Configuration& started, const Configuration& settled) {
  return {.epoch = 1, .promised = 1, .proposed = started, .committed = settled};
}
VoterState in(const Configuration& first) { return in(first, first); }

/// Whether these elect somebody.
bool elect(const std::vector<VoterState>& voters) {
  JointQuorum quorum;
  for (const VoterState& voter : voters) quorum.hear(voter);
  Votes votes;
  for (const VoterState& voter : voters) quorum.count(votes, voter);
  return quorum.elects(votes);
}

TEST_CASE("more than half of the nodes of the last round elect, and half of them do not") {
  const VoterState voter = in({kFirst, 4, true});
  CHECK_FALSE(elect({voter, voter}));
  CHECK(elect({voter, voter, voter}));
}

TEST_CASE("nobody is elected where no round was begun") {
  CHECK_FALSE(elect({}));
  CHECK_FALSE(elect({VoterState{}, VoterState{}}));
}

TEST_CASE("a node that waited beside the round has no vote in it") {
  const VoterState spare = in({kFirst, 3, false});
  CHECK_FALSE(elect({in({kFirst, 3, true}), spare, spare, spare}));
}

TEST_CASE("a round that has not settled needs the majority of the one before, too") {
  const Configuration first{kFirst, 5, true};
  const VoterState stayed = in({kSecond, 3, true}, first);
  const VoterState fresh = in({kSecond, 3, true}, {kFirst, 5, false});
  const VoterState lost = in(first, first);
  CHECK_FALSE(elect({stayed, fresh, fresh}));  // one of five
  CHECK_FALSE(elect({lost, lost, stayed}));    // one of three
  CHECK(elect({stayed, stayed, lost}));
}

TEST_CASE("a round that few have heard of is no basis for these few") {
  // A first round of four; then one of two, of which nobody else has heard.
  const VoterState voter = in({kSecond, 2, true}, {kFirst, 4, true});
  CHECK_FALSE(elect({voter, voter}));
}

// A first round of five has settled. Its nodes 1 to 4 were to know of the second one, which few
// have heard of.
VoterState knows_both(int rank) {
  return in({kSecond, 4, true, rank - 1, "1-4"}, {kFirst, 5, true, rank});
}
VoterState knows_first(int rank) { return in({kFirst, 5, true, rank}); }

TEST_CASE("a round that somebody must know of and does not, who votes, is of no account") {
  CHECK(elect({knows_both(2), knows_first(3), knows_first(4)}));
  CHECK(elect({knows_both(2), knows_both(3), knows_first(4)}));
  CHECK_FALSE(elect({knows_both(2), knows_first(4)}));  // two of five
}

TEST_CASE("who was not to know of a round proves nothing by not knowing it") {
  CHECK_FALSE(elect({knows_both(2), knows_first(0), knows_first(0)}));
  const VoterState untold = in({kSecond, 4, true, 1, ""}, {kFirst, 5, true, 2});
  CHECK_FALSE(elect({untold, knows_first(3), knows_first(4)}));
}

TEST_CASE("any voter that got a round knows its members") {
  const VoterState untold = in({kSecond, 4, true, 1, ""}, {kFirst, 5, true, 2});
  CHECK(elect({untold, knows_both(3), knows_first(4)}));
  CHECK_FALSE(elect({untold, knows_both(3), knows_first(0)}));
}

TEST_CASE("what another voter knows as well changes nothing") {
  JointQuorum quorum;
  quorum.hear({.proposed = {kFirst, 5, true, 1}, .committed = {kFirst, 5, true, 1}});
  const JointQuorum before = quorum;
  quorum.hear({.proposed = {kFirst, 5, true, 2}, .committed = {kFirst, 5, true, 2}});
  CHECK(quorum == before);
}

TEST_CASE("a round that is forgotten is not heard of again") {
  JointQuorum quorum;
  quorum.hear(knows_both(2));
  quorum.abandon_proposal();
  quorum.hear(knows_both(3));
  CHECK_FALSE(quorum.is_joint());
  quorum.hear(in({{2, 3}, 3, true, 0}, {kFirst, 5, true, 4}));
  CHECK(quorum.is_joint());
}

TEST_CASE("once a round has settled, its nodes alone decide") {
  const VoterState stayed = in({kSecond, 3, true}, {kSecond, 3, true});
  const VoterState unsettled = in({kSecond, 3, true}, {kFirst, 5, true});
  CHECK(elect({stayed, unsettled}));
}

TEST_CASE("who is kept by half of the nodes leaves too few for anybody else") {
  for (int nodes = 1; nodes <= 100; ++nodes) {
    CHECK(votes_to_stay(nodes) + votes_to_win(nodes) > nodes);
    CHECK(2 * votes_to_win(nodes) > nodes);
    CHECK(votes_to_stay(nodes) <= votes_to_win(nodes));
  }
  CHECK(votes_to_stay(4) == 2);
  CHECK(votes_to_win(4) == 3);
}

TEST_CASE("a round of a later coordinator is a later round, whatever its number") {
  JointQuorum quorum;
  quorum.hear(in({{1, 9}, 5, true}));
  quorum.hear(in({{2, 3}, 3, true}));
  CHECK(quorum.proposed.version == ConfigurationVersion{2, 3});
}

TEST_CASE("of the round that was begun last those are missing who have not voted") {
  JointQuorum quorum;
  quorum.hear(in({kSecond, 3, true}, {kFirst, 5, true}));
  CHECK(quorum.latest().version == kSecond);
  CHECK(quorum.missing({.committed = 3, .proposed = 2}) == 1);
  quorum.abandon_proposal();
  CHECK(quorum.latest().version == kFirst);
  CHECK(quorum.missing({.committed = 3, .proposed = 2}) == 2);
}

}  // namespace
}  // namespace ddprun
