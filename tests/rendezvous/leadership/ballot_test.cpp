#include "rendezvous/leadership/ballot.hpp"

#include "tests/rendezvous/leadership/voters.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

TEST_CASE("votes are requested for an epoch above all that somebody has promised") {
  Ballot ballot;
  CHECK(ballot.is_stale(0));
  ballot.hear(3);
  ballot.hear(2);
  ballot.raise(0);
  CHECK(ballot.requested() == 4);
  CHECK(ballot.highest() == 4);
  CHECK_FALSE(ballot.is_stale(3));

  ballot.hear(4);  // somebody else has asked for it, too
  CHECK(ballot.is_stale(3));
  ballot.raise(3);
  CHECK(ballot.requested() == 5);
}

TEST_CASE("a leader requests votes for an epoch above its own") {
  Ballot ballot;
  ballot.raise(6);
  CHECK(ballot.requested() == 7);
  CHECK_FALSE(ballot.is_stale(6));
  CHECK(ballot.is_stale(7));
}

// Gives the tests four voters of one round, and the ballot about its next leader.
class BallotFixture {
 protected:
  const Votes& vote(const NodeId& id, std::int64_t epoch) {
    Voter& voter = *voters_.find(id);
    voter.granted = epoch;
    return ballot_.count_granted(voter, voters_, quorum_);
  }
  const Votes& come(const NodeId& id) {
    return ballot_.count_present(*voters_.find(id), voters_, quorum_);
  }

  VoterTable voters_ = members(4, 4);
  JointQuorum quorum_ = quorum_of(voters_);
  Ballot ballot_;
};

TEST_CASE_METHOD(BallotFixture, "votes are counted that were given for the last epoch") {
  ballot_.raise(1);
  CHECK(vote("a", 2).committed == 1);
  CHECK(vote("b", 2).committed == 2);
  CHECK(vote("c", 1).committed == 2);

  ballot_.raise(2);
  CHECK(vote("a", 3).committed == 1);
  CHECK(ballot_.granted().committed == 1);
}

TEST_CASE_METHOD(BallotFixture, "an agent that is no voter yet has no vote, and is not here") {
  voters_.put([this] {
    Voter voter = *voters_.find("b");
    voter.is_voter = false;
    return voter;
  }());
  ballot_.raise(1);
  CHECK(vote("b", 2).committed == 0);
  CHECK(vote("a", 2).committed == 1);
  CHECK(vote("b", 2).committed == 1);
  CHECK(come("a").committed == 3);
  CHECK(come("b").committed == 3);
}

TEST_CASE_METHOD(BallotFixture, "a new voter is counted at once, and a lost one on request") {
  CHECK(come("a").committed == 4);
  voters_.put(member("e", 3, 4));
  CHECK(come("e").committed == 5);

  voters_.remove("e");
  voters_.remove("d");
  ballot_.recount();
  CHECK(come("a").committed == 3);
  CHECK(ballot_.present().committed == 3);
}

TEST_CASE_METHOD(BallotFixture, "a vote of a lost voter does not count after a recount") {
  ballot_.raise(1);
  vote("a", 2);
  vote("b", 2);
  voters_.remove("a");
  ballot_.recount();
  CHECK(vote("c", 2).committed == 2);
}

}  // namespace
}  // namespace ddprun
