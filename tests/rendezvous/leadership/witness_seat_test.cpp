#include "rendezvous/leadership/witness_seat.hpp"

#include "tests/rendezvous/leadership/start.hpp"
#include "tests/rendezvous/leadership/voters.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;

// Gives the tests two nodes of a round, and the witness w that follows their leader.
class WitnessSeatFixture {
 protected:
  WitnessSeatFixture() {
    voters_.put({.id = "w", .counters = {1, 2}, .witness = true});
    seat_.take("w");
  }
  bool wants_change(int nodes, TimePoint now = kStart) const {
    return seat_.wants_change(nodes, voters_, now);
  }
  std::optional<StopRound> tell(int attempt, bool alone = false) {
    return seat_.tell_attempt(attempt, alone, 7, voters_);
  }

  VoterTable voters_ = members(2, 2);
  WitnessSeat seat_;
};

TEST_CASE_METHOD(WitnessSeatFixture, "the seat is free when its witness leaves, and nobody else") {
  seat_.leave("a");
  CHECK(seat_.id() == "w");
  seat_.leave("w");
  CHECK(seat_.id().empty());
}

TEST_CASE("a leader invites a witness each second, and a candidate more often") {
  WitnessSeat seat;
  CHECK_FALSE(seat.invites(false, true, kStart));
  CHECK(seat.invites(true, true, kStart));
  CHECK(seat.next_invitation() == kStart + 1s);
  CHECK_FALSE(seat.invites(true, true, kStart + 999ms));
  CHECK(seat.invites(true, false, kStart + 1s));
  CHECK(seat.next_invitation() == kStart + 1'050ms);
}

TEST_CASE_METHOD(WitnessSeatFixture, "a witness votes with an even number of nodes") {
  CHECK(wants_change(2));
  CHECK_FALSE(wants_change(3));
  seat_.change("w");
  CHECK(seat_.voting() == "w");
  CHECK_FALSE(wants_change(2));
  CHECK(wants_change(3));
  seat_.begin_round();
  CHECK(seat_.voting().empty());
}

TEST_CASE_METHOD(WitnessSeatFixture, "a witness that follows no more votes no more") {
  seat_.change("w");
  voters_.set_stance(*voters_.find("w"), Stance::kUndecided);
  CHECK(wants_change(2));
  seat_.change("");
  CHECK_FALSE(wants_change(2));
}

TEST_CASE_METHOD(WitnessSeatFixture, "another witness takes the vote of the one before") {
  seat_.change("before");
  CHECK(wants_change(2));
}

TEST_CASE_METHOD(WitnessSeatFixture, "a change of voters that was put off waits") {
  seat_.put_change_off(1'000ms, kStart);
  CHECK_FALSE(wants_change(2, kStart + 49ms));
  CHECK(wants_change(2, kStart + 50ms));
}

TEST_CASE_METHOD(WitnessSeatFixture, "a witness that decides is told the attempt, once") {
  const auto told = tell(3);
  REQUIRE(told);
  CHECK(told->round == 7);
  CHECK(told->attempt == 3);
  CHECK_FALSE(told->at_once);
  CHECK(told->checkpoint_ms == 0);
  CHECK_FALSE(seat_.knows_attempt(voters_));
  CHECK(tell(3) == std::nullopt);
  CHECK_FALSE(seat_.knows_attempt(voters_));
  CHECK(tell(4) != std::nullopt);
}

TEST_CASE_METHOD(WitnessSeatFixture, "a witness that has answered knows the attempt") {
  tell(3);
  seat_.answered(voters_);
  CHECK(seat_.knows_attempt(voters_));
  CHECK(voters_.find("w")->counters.attempt == 3);
  CHECK(tell(3) == std::nullopt);
  CHECK(seat_.knows_attempt(voters_));
}

TEST_CASE_METHOD(WitnessSeatFixture, "an answer takes nothing from what the witness knows") {
  seat_.answered(voters_);
  CHECK(voters_.find("w")->counters.attempt == 2);
}

TEST_CASE_METHOD(WitnessSeatFixture, "a witness that knows the attempt is told nothing") {
  CHECK(tell(2) == std::nullopt);
  CHECK(seat_.knows_attempt(voters_));
}

TEST_CASE_METHOD(WitnessSeatFixture, "nodes that elect alone need no witness that knows anything") {
  CHECK(tell(9, true) == std::nullopt);
  CHECK(seat_.knows_attempt(voters_));
}

TEST_CASE_METHOD(WitnessSeatFixture, "a witness that does not follow need not know the attempt") {
  voters_.set_stance(*voters_.find("w"), Stance::kUndecided);
  CHECK(tell(3) == std::nullopt);
  CHECK(seat_.knows_attempt(voters_));
}

TEST_CASE_METHOD(WitnessSeatFixture, "where there is no witness nobody has to know the attempt") {
  tell(3);
  seat_.leave("w");
  voters_.remove("w");
  CHECK(seat_.knows_attempt(voters_));
  CHECK(tell(4) == std::nullopt);
  seat_.answered(voters_);
}

TEST_CASE_METHOD(WitnessSeatFixture, "a witness that comes anew is told the attempt again") {
  tell(3);
  seat_.take("w");
  CHECK(tell(3) != std::nullopt);
}

}  // namespace
}  // namespace ddprun
