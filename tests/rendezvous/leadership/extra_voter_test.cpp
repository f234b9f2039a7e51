#include "rendezvous/leadership/extra_voter.hpp"

#include "tests/rendezvous/leadership/start.hpp"
#include "tests/rendezvous/leadership/voters.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;

// Gives the tests two nodes of a round, the spare s that waits for a place, and the witness w. All
// follow the leader.
class ExtraVoterFixture {
 protected:
  ExtraVoterFixture() {
    for (int rank = 0; rank < 2; ++rank) voters_.find(rank == 0 ? "a" : "b")->rank = rank;
    voters_.put({.id = "s"});
    voters_.put({.id = "w", .counters = {1, 2}, .witness = true});
    extra_.take("w");
  }
  NodeId wanted(int nodes) const {
    return extra_.wanted(nodes, voters_, [this] { return first_spare_; });
  }
  void witness_goes() {
    extra_.leave("w");
    voters_.remove("w");
  }
  void votes(const NodeId& id) { extra_.change(voters_.find(id)); }
  std::optional<StopRound> tell(int attempt, bool alone = false) {
    return extra_.tell_attempt(attempt, alone, 7, voters_);
  }

  VoterTable voters_ = members(2, 2);
  NodeId first_spare_ = "s";
  ExtraVoter extra_;
};

TEST_CASE_METHOD(ExtraVoterFixture,
                 "there is no witness any more when it leaves, and nobody else") {
  extra_.leave("a");
  CHECK(extra_.witness() == "w");
  extra_.leave("w");
  CHECK(extra_.witness().empty());
}

TEST_CASE("a leader invites a witness each second, and a candidate more often") {
  ExtraVoter extra;
  CHECK_FALSE(extra.invites(false, true, kStart));
  CHECK(extra.invites(true, true, kStart));
  CHECK(extra.next_invitation() == kStart + 1s);
  CHECK_FALSE(extra.invites(true, true, kStart + 999ms));
  CHECK(extra.invites(true, false, kStart + 1s));
  CHECK(extra.next_invitation() == kStart + 1'050ms);
}

TEST_CASE_METHOD(ExtraVoterFixture,
                 "a witness votes with an even number of nodes, before a spare") {
  CHECK(wanted(2) == "w");
  CHECK(wanted(3).empty());
  votes("w");
  CHECK(extra_.voting() == "w");
  CHECK_FALSE(extra_.is_spare());
  CHECK(wanted(2) == "w");
  extra_.begin_round();
  CHECK(extra_.voting().empty());
}

TEST_CASE_METHOD(ExtraVoterFixture,
                 "a spare votes with an even number of nodes without a witness") {
  voters_.set_stance(*voters_.find("w"), Stance::kUndecided);
  CHECK(wanted(2) == "s");
  CHECK(wanted(3).empty());
  votes("s");
  CHECK(extra_.is_spare());
}

TEST_CASE_METHOD(ExtraVoterFixture, "a witness that comes takes the vote of the spare") {
  votes("s");
  CHECK(wanted(2) == "w");
}

TEST_CASE_METHOD(ExtraVoterFixture, "a spare keeps its vote, whichever is the first one now") {
  witness_goes();
  votes("s");
  voters_.put({.id = "t"});
  first_spare_ = "t";
  CHECK(wanted(2) == "s");
}

TEST_CASE_METHOD(ExtraVoterFixture, "the next spare votes when one is gone, or has a place") {
  witness_goes();
  votes("s");
  voters_.put({.id = "t"});
  first_spare_ = "t";
  voters_.find("s")->rank = 1;
  CHECK(wanted(2) == "t");
  voters_.remove("s");
  CHECK(wanted(2) == "t");
}

TEST_CASE_METHOD(ExtraVoterFixture,
                 "who does not follow, or is no spare, has no vote to be given") {
  witness_goes();
  voters_.set_stance(*voters_.find("s"), Stance::kUndecided);
  CHECK(wanted(2).empty());
  for (const char* const id : {"a", "unknown", ""}) {
    first_spare_ = id;
    CHECK(wanted(2).empty());
  }
  CHECK(extra_.wanted(2, voters_, {}).empty());
}

TEST_CASE_METHOD(ExtraVoterFixture, "a change of voters that was put off waits") {
  extra_.put_off(1'000ms, kStart);
  CHECK_FALSE(extra_.is_due(kStart + 49ms));
  CHECK(extra_.is_due(kStart + 50ms));
}

TEST_CASE_METHOD(ExtraVoterFixture, "a witness that decides gets the attempt, once") {
  const auto told = tell(3);
  REQUIRE(told);
  CHECK(told->round == 7);
  CHECK(told->attempt == 3);
  CHECK_FALSE(told->at_once);
  CHECK(told->checkpoint_ms == 0);
  CHECK_FALSE(extra_.knows_attempt(voters_));
  CHECK(tell(3) == std::nullopt);
  CHECK_FALSE(extra_.knows_attempt(voters_));
  CHECK(tell(4) != std::nullopt);
}

TEST_CASE_METHOD(ExtraVoterFixture, "a witness that has answered knows the attempt") {
  tell(3);
  extra_.answered(voters_);
  CHECK(extra_.knows_attempt(voters_));
  CHECK(voters_.find("w")->counters.attempt == 3);
  CHECK(tell(3) == std::nullopt);
  CHECK(extra_.knows_attempt(voters_));
}

TEST_CASE_METHOD(ExtraVoterFixture, "an answer takes nothing from what the witness knows") {
  extra_.answered(voters_);
  CHECK(voters_.find("w")->counters.attempt == 2);
}

TEST_CASE_METHOD(ExtraVoterFixture, "a witness that knows the attempt gets nothing") {
  CHECK(tell(2) == std::nullopt);
  CHECK(extra_.knows_attempt(voters_));
}

TEST_CASE_METHOD(ExtraVoterFixture, "nodes that elect alone need no witness that knows anything") {
  CHECK(tell(9, true) == std::nullopt);
  CHECK(extra_.knows_attempt(voters_));
}

TEST_CASE_METHOD(ExtraVoterFixture, "a witness that does not follow need not know the attempt") {
  voters_.set_stance(*voters_.find("w"), Stance::kUndecided);
  CHECK(tell(3) == std::nullopt);
  CHECK(extra_.knows_attempt(voters_));
}

TEST_CASE_METHOD(ExtraVoterFixture, "where there is no witness nobody has to know the attempt") {
  tell(3);
  extra_.leave("w");
  voters_.remove("w");
  CHECK(extra_.knows_attempt(voters_));
  CHECK(tell(4) == std::nullopt);
  extra_.answered(voters_);
}

TEST_CASE_METHOD(ExtraVoterFixture, "a witness that comes again gets the attempt again") {
  tell(3);
  extra_.take("w");
  CHECK(tell(3) != std::nullopt);
}

}  // namespace
}  // namespace ddprun
