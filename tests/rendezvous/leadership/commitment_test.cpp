#include "rendezvous/leadership/commitment.hpp"

#include "tests/rendezvous/leadership/voters.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

// Gives the tests the nodes a, b and c, of which the first round is committed.
class CommitmentFixture {
 protected:
  CommitmentFixture() {
    voters_.for_each([&](const Voter& voter) { commitment_.hear(voter.state); });
  }
  void propose() { commitment_.propose({kSecond, 3}, voters_); }
  bool knows(const NodeId& id, const ConfigurationVersion& version = kSecond) {
    return commitment_.knows(*voters_.find(id), version);
  }
  void lose(const NodeId& id) {
    commitment_.lose(*voters_.find(id));
    voters_.remove(id);
  }
  bool is_committed() const { return !commitment_.quorum().is_joint(); }

  VoterTable voters_ = members(3, 3);
  Commitment commitment_;
};

TEST_CASE("a job's first round is committed from its beginning") {
  VoterTable voters;
  Commitment commitment;
  commitment.propose({kFirst, 2}, voters);
  CHECK(commitment.quorum().committed.version == kFirst);
  CHECK_FALSE(commitment.quorum().is_joint());
}

TEST_CASE_METHOD(CommitmentFixture, "a round is committed when the last one knows of it") {
  propose();
  CHECK_FALSE(is_committed());
  CHECK_FALSE(knows("a"));
  CHECK_FALSE(knows("b"));
  CHECK_FALSE(is_committed());
  CHECK(knows("c"));
  CHECK(is_committed());
  CHECK(commitment_.quorum().committed.version == kSecond);
  CHECK_FALSE(knows("c"));
}

TEST_CASE_METHOD(CommitmentFixture, "a voter that says it again counts once") {
  propose();
  CHECK_FALSE(knows("a"));
  CHECK_FALSE(knows("a"));
  CHECK_FALSE(knows("a"));
  CHECK_FALSE(is_committed());
}

TEST_CASE_METHOD(CommitmentFixture, "who tells of another round knows nothing of this one") {
  propose();
  knows("a");
  knows("b");
  CHECK_FALSE(knows("c", kFirst));
  CHECK_FALSE(knows("c", {1, 3}));
  CHECK_FALSE(is_committed());
  CHECK(knows("c"));
}

TEST_CASE_METHOD(CommitmentFixture, "a round that a lost node was to know is never committed") {
  propose();
  knows("a");
  lose("b");
  CHECK_FALSE(knows("c"));
  CHECK_FALSE(is_committed());
}

TEST_CASE_METHOD(CommitmentFixture, "a node that knew of the round may be lost") {
  propose();
  knows("b");
  lose("b");
  CHECK_FALSE(knows("a"));
  CHECK(knows("c"));
  CHECK(is_committed());
}

TEST_CASE_METHOD(CommitmentFixture, "a proposal after one that never was committed may be") {
  propose();
  lose("b");
  commitment_.propose({{1, 3}, 2}, voters_);
  CHECK_FALSE(knows("a", {1, 3}));
  CHECK(knows("c", {1, 3}));
}

TEST_CASE_METHOD(CommitmentFixture, "who is undecided need not know of the round") {
  voters_.set_stance(*voters_.find("b"), Stance::kUndecided);
  propose();
  knows("a");
  CHECK(knows("c"));
  CHECK(voters_.find("b")->state.proposed.version == kFirst);
}

TEST_CASE_METHOD(CommitmentFixture, "followers get the proposal, and keep what is committed") {
  propose();
  const VoterState& state = voters_.find("a")->state;
  CHECK(state.proposed.version == kSecond);
  CHECK(state.committed.version == kFirst);
  knows("a");
  knows("b");
  knows("c");
  commitment_.propose({{1, 3}, 3}, voters_);
  CHECK(state.committed.version == kSecond);
  CHECK(state.proposed.version == ConfigurationVersion{1, 3});
}

TEST_CASE_METHOD(CommitmentFixture, "a follower that got no committed round keeps its own") {
  propose();
  commitment_.propose({{1, 3}, 3}, voters_);
  CHECK(voters_.find("a")->state.committed.version == kFirst);
}

TEST_CASE_METHOD(CommitmentFixture, "a voter that knows more changes whose votes count") {
  CHECK_FALSE(commitment_.hear(voters_.find("a")->state));
  CHECK(commitment_.hear(member("d", 3, 4, kSecond).state));
}

TEST_CASE_METHOD(CommitmentFixture, "the awaited are the followers of the committed round") {
  CHECK(commitment_.awaited(voters_) == "0-2");
  voters_.set_stance(*voters_.find("b"), Stance::kUndecided);
  voters_.put(newcomer("d"));
  voters_.put(member("e", 7, 3, {1, 9}));
  CHECK(commitment_.awaited(voters_) == "0,2");
}

TEST_CASE_METHOD(CommitmentFixture, "the awaited are in the order of their ranks") {
  voters_.put(member("a", 2, 3));
  voters_.put(member("c", 0, 3));
  voters_.remove("b");
  CHECK(commitment_.awaited(voters_) == "0,2");
}

TEST_CASE_METHOD(CommitmentFixture, "a list of the awaited that is too long is not told") {
  voters_ = {};
  std::string expected;
  std::size_t longest = 0;
  for (int rank = 0; rank < 400; rank += 2) {
    voters_.put(member("node" + std::to_string(rank), rank, 400));
    expected += (expected.empty() ? "" : ",") + std::to_string(rank);
    const std::string told = commitment_.awaited(voters_);
    CHECK(told == (expected.size() <= kRankListBytesMax ? expected : ""));
    longest = std::max(longest, told.size());
  }
  CHECK(longest == kRankListBytesMax);
}

TEST_CASE_METHOD(CommitmentFixture, "a proposal awaits nobody that an earlier one awaited") {
  VoterState voter = voters_.find("a")->state;
  voter.proposed = {kSecond, 3, true, 0, "0-2"};
  commitment_.hear(voter);
  REQUIRE(commitment_.quorum().awaited.size() == 3);
  commitment_.propose({{2, 3}, 3}, voters_);
  CHECK(commitment_.quorum().awaited.empty());
}

}  // namespace
}  // namespace ddprun
