#include "rendezvous/leadership/former_leader.hpp"

#include "tests/rendezvous/leadership/start.hpp"
#include "tests/rendezvous/leadership/voters.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;

constexpr int kPlaces = 10;

// Gives the tests a leader that was elected by all but one of the four nodes of a round. The leader
// before may count on them for a second.
class FormerLeaderFixture {
 protected:
  FormerLeaderFixture() {
    former_.hear({.old_lease_ms = 1'000}, kStart);
    former_.begin(false);
    former_.gather(kStart);
  }
  /// All tell so of the leader, and of the ranks of nodes that are gone. The leader has rank 3.
  void tell_all(bool leader_dead, const std::string& dead_ranks) {
    voters_.for_each([&](Voter& voter) {
      voter.state.leader_dead = leader_dead;
      voter.state.dead_ranks = dead_ranks;
    });
  }
  bool is_over(TimePoint now = kStart) const {
    return former_.is_over(voters_, quorum_of(voters_), now);
  }
  bool may_come(TimePoint now = kStart, int nodes_max = kPlaces) const {
    return former_.may_come(voters_, quorum_of(voters_), nodes_max, now);
  }

  VoterTable voters_ = members(3, 4);
  FormerLeader former_;
};

TEST_CASE_METHOD(FormerLeaderFixture,
                 "workers of before are gone when the longest lease has ended") {
  CHECK_FALSE(is_over(kStart + 999ms));
  CHECK(is_over(kStart + 1'000ms));
  former_.hear({.old_lease_ms = 500}, kStart + 100ms);
  CHECK(former_.leases_end() == kStart + 1'000ms);
  former_.hear({.old_lease_ms = 1'500}, kStart + 100ms);
  CHECK_FALSE(is_over(kStart + 1'599ms));
  CHECK(is_over(kStart + 1'600ms));
}

TEST_CASE_METHOD(FormerLeaderFixture, "a leader that nobody has preceded waits for nothing") {
  former_.end();
  CHECK_FALSE(former_.elected());
  CHECK(is_over());
  CHECK_FALSE(may_come());
  CHECK(former_.next_change(kStart) == std::nullopt);
}

TEST_CASE_METHOD(FormerLeaderFixture, "a leader that all have seen die leaves no workers") {
  tell_all(true, "3");
  CHECK(is_over());
}

TEST_CASE_METHOD(FormerLeaderFixture, "a node that has not seen the leader die may be its own") {
  tell_all(true, "3");
  voters_.find("b")->state.leader_dead = false;
  CHECK_FALSE(is_over());
}

TEST_CASE_METHOD(FormerLeaderFixture, "who is no node of a round has no leader to see die") {
  tell_all(true, "3");
  voters_.put(newcomer("new"));
  voters_.put(voting_witness(4, 4));
  Voter& twin = voters_.put(member("twin", 1, 4));
  twin.is_voter = false;
  CHECK(is_over());
  twin.is_voter = true;
  CHECK_FALSE(is_over());
}

TEST_CASE_METHOD(FormerLeaderFixture,
                 "a node that is missing and is not the leader may have workers") {
  tell_all(true, "");
  CHECK_FALSE(is_over());
  voters_.put(member("d", 3, 4)).state.leader_dead = true;
  CHECK(is_over());
}

TEST_CASE_METHOD(FormerLeaderFixture, "the leader's own node is the only one that may be missing") {
  tell_all(true, "3");
  voters_.remove("c");
  CHECK_FALSE(is_over());
}

TEST_CASE_METHOD(FormerLeaderFixture, "a node that finds another one gone reports it for all") {
  tell_all(true, "");
  voters_.find("b")->state.dead_ranks = "3";
  CHECK(is_over());
}

TEST_CASE_METHOD(FormerLeaderFixture, "several nodes may be known to be gone") {
  tell_all(true, "3");
  voters_.remove("c");
  CHECK_FALSE(is_over());
  voters_.find("b")->state.dead_ranks = "2-3";
  CHECK(is_over());
}

TEST_CASE_METHOD(FormerLeaderFixture, "a node that is here is not gone, whatever others tell") {
  tell_all(true, "2");
  CHECK_FALSE(is_over());
}

TEST_CASE_METHOD(FormerLeaderFixture, "spares are waited for, and nodes that are gone are not") {
  CHECK_FALSE(may_come());
  SECTION("a spare") {
    former_.hear({.spares = 1}, kStart);
    CHECK(may_come());
    CHECK_FALSE(may_come(kStart, 3));
  }
  SECTION("nodes that are gone") {
    voters_.remove("c");
    CHECK(may_come());
    VoterState& state = voters_.find("b")->state;
    state.dead_ranks = "2-3";
    former_.hear(state, kStart);
    CHECK_FALSE(may_come());
  }
}

TEST_CASE_METHOD(FormerLeaderFixture,
                 "who is undecided is missing, and says nothing of the leader") {
  tell_all(true, "3");
  voters_.set_stance(*voters_.find("b"), Stance::kUndecided);
  CHECK_FALSE(is_over());
  voters_.put(member("d", 1, 4)).state = voters_.find("a")->state;
  CHECK(is_over());
}

TEST_CASE_METHOD(FormerLeaderFixture,
                 "of a round that is only proposed the leader may be no member") {
  tell_all(true, "3");
  CHECK(is_over());
  voters_.find("a")->state.proposed = {kSecond, 3, true, 0};
  voters_.find("b")->state.proposed = {kSecond, 3, true, 1};
  CHECK_FALSE(is_over());
}

TEST_CASE_METHOD(FormerLeaderFixture,
                 "a node that is in no later round than the committed has to see the leader die") {
  tell_all(true, "");
  voters_.find("a")->state.proposed = {kSecond, 2, true, 0};
  voters_.find("b")->state.proposed = {kSecond, 2, true, 1};
  CHECK(is_over());
  voters_.find("c")->state.leader_dead = false;
  CHECK_FALSE(is_over());
}

TEST_CASE_METHOD(FormerLeaderFixture,
                 "who is missing counts in the round that was begun last alone") {
  voters_ = members(3, 5);
  tell_all(true, "3");
  CHECK_FALSE(is_over());
  int rank = 0;
  voters_.for_each([&](Voter& voter) { voter.state.proposed = {kSecond, 4, true, rank++}; });
  CHECK(is_over());
  tell_all(true, "");
  CHECK_FALSE(is_over());
  tell_all(true, "4");  // there is no such rank
  CHECK_FALSE(is_over());
}

TEST_CASE_METHOD(FormerLeaderFixture, "nodes of a proposal that is passed over may have workers") {
  tell_all(true, "3");
  former_.begin(true);
  CHECK_FALSE(is_over(kStart + 999ms));
  CHECK(is_over(kStart + 1'000ms));
  former_.end();
  former_.begin(false);
  CHECK(is_over());
}

TEST_CASE_METHOD(FormerLeaderFixture, "votes of voters that are present are waited for a little") {
  voters_.set_stance(*voters_.find("c"), Stance::kUndecided);
  former_.hear({.old_lease_ms = 0}, kStart - 1s);
  CHECK(may_come(kStart + kVotePatience - 1ms));
  CHECK_FALSE(may_come(kStart + kVotePatience));
}

TEST_CASE_METHOD(FormerLeaderFixture,
                 "nodes are waited for while they come soon after each other") {
  voters_.remove("c");
  CHECK(may_come(kStart + kArrivalPause - 1ms));
  CHECK_FALSE(may_come(kStart + kArrivalPause));
  former_.hear({.old_lease_ms = 0}, kStart + 99ms);
  CHECK(may_come(kStart + 198ms));
  CHECK_FALSE(may_come(kStart + 199ms));
}

TEST_CASE_METHOD(FormerLeaderFixture, "nodes that come one by one are not waited for without end") {
  voters_.remove("c");
  former_.hear({.old_lease_ms = 0}, kStart + kArrivalsMax - 1ms);
  CHECK(may_come(kStart + kArrivalsMax - 1ms));
  CHECK_FALSE(may_come(kStart + kArrivalsMax));
}

TEST_CASE_METHOD(FormerLeaderFixture,
                 "nobody is waited for when all but the lost leader are here") {
  CHECK_FALSE(may_come());
  voters_.remove("c");
  CHECK(may_come());
  CHECK(may_come(kStart, 3));
  CHECK_FALSE(may_come(kStart, 2));
}

TEST_CASE_METHOD(FormerLeaderFixture, "a larger proposal has more nodes that may come") {
  voters_.find("a")->state.proposed = {kSecond, 5, true, 0};
  CHECK(may_come());
}

TEST_CASE_METHOD(FormerLeaderFixture, "a witness is one of the voters, and no node that may come") {
  voters_.remove("c");
  voters_.put(voting_witness(3, 4));
  CHECK_FALSE(may_come());
}

TEST_CASE_METHOD(FormerLeaderFixture,
                 "what may change next is the first of what is still to come") {
  CHECK(former_.next_change(kStart) == kStart + 100ms);
  CHECK(former_.next_change(kStart + 99ms) == kStart + 100ms);
  CHECK(former_.next_change(kStart + 100ms) == kStart + 1'000ms);
  CHECK(former_.next_change(kStart + 1'000ms) == std::nullopt);
  former_.hear({.old_lease_ms = 300}, kStart + 2s);
  CHECK(former_.next_change(kStart + 2s) == kStart + 2'100ms);
  CHECK(former_.next_change(kStart + 2'100ms) == kStart + 2'300ms);
}

}  // namespace
}  // namespace ddprun
