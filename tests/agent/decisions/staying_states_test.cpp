// Which of a node's workers can stay while members of the job change, by their own words.
#include "agent/decisions/staying_workers.hpp"
#include "tests/agent/decisions/two_workers.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

TEST_CASE("workers can stay when all of them have said so for this round") {
  StayingWorkers workers{2};
  CHECK_FALSE(workers.leave());
  workers.begin_round(3);
  workers.said(says(0, CanStay{3}));
  CHECK_FALSE(workers.all_can_stay());
  workers.said(says(1, CanStay{2}));
  CHECK_FALSE(workers.all_can_stay());
  workers.said(says(1, CanStay{3}));
  CHECK(workers.all_can_stay());
  workers.said(says(1, CannotStay{}));
  CHECK_FALSE(workers.leave());
}

TEST_CASE("who has ended is not waited for, and is another one in the next round") {
  StayingWorkers workers{3};
  workers.begin_round(1);
  for (int i = 0; i < 3; ++i) workers.said(says(i, CanStay{1}));
  workers.said(says(0, Parked{1}));
  workers.ended(1);
  CHECK_FALSE(workers.all_can_stay());
  CHECK(workers.leave());
  CHECK_FALSE(workers.have_left());
  CHECK(workers.to_leave() == std::vector{2});
  workers.said(says(2, Parked{1}));
  CHECK(workers.have_left());
  workers.said(says(1, Parked{1}));  // its last word, read after its end
  workers.begin_round(2);
  CHECK_FALSE(workers.all_can_stay());
  workers.said(says(1, CanStay{2}));
  CHECK(workers.all_can_stay());
  workers.said(says(0, Parked{1}));
  CHECK(workers.to_leave() == std::vector{0, 1, 2});
}

TEST_CASE("a worker that prepares parks first, or enters a round when it has come so far") {
  StayingWorkers workers{2};
  workers.prepare();
  workers.said(says(0, CanStay{kNoRound}));
  CHECK_FALSE(workers.are_prepared());
  workers.said(says(0, Parked{kNoRound}));
  CHECK(workers.parked() == ParkedWorkers{"0"});
  workers.begin_round(4);
  CHECK_FALSE(workers.leave());  // the other one would not hear that it is to leave
  CHECK(workers.to_leave() == std::vector{0, 1});
  workers.said(says(1, Parked{kNoRound}));
  CHECK(workers.all_can_stay());
  workers.said(says(0, Parked{kNoRound}));
  CHECK(workers.all_can_stay());
}

TEST_CASE("a worker for a vacant seat prepares, and enters the next round") {
  StayingWorkers workers{3};
  workers.begin_round(1);
  for (int i = 0; i < 3; ++i) workers.said(says(i, CanStay{1}));
  workers.ended(1);
  for (const int i : {0, 2}) workers.said(says(i, Parked{1}));
  CHECK(workers.parked() == ParkedWorkers{"0,2"});
  workers.begin_round(2, {1});
  CHECK(workers.all_can_stay());
  CHECK(workers.living_without_seat() == 1);
  CHECK(workers.without_seat() == std::vector{1});
  CHECK_FALSE(workers.are_prepared());
  workers.said(says(1, Parked{kNoRound}));
  CHECK(workers.are_prepared());
  for (const int i : {0, 2}) workers.said(says(i, Parked{2}));
  CHECK(workers.parked() == ParkedWorkers{"0-2"});
  workers.begin_round(3);
  CHECK(workers.all_can_stay());
  CHECK(workers.living_without_seat() == 0);
}

TEST_CASE("those that need as many workers as before say how many these were") {
  StayingWorkers workers{3};
  workers.begin_round(1, {}, 12);
  for (const int i : {0, 2}) workers.said(says(i, CanStay{1, /*resize=*/false}));
  workers.said(says(1, CanStay{1}));
  for (const int i : {0, 1}) workers.said(says(i, Parked{1}));
  workers.ended(2);
  CHECK(workers.parked() == ParkedWorkers{"0-1", 12});
  workers.ended(0);
  CHECK(workers.parked() == ParkedWorkers{"1"});  // it can do with any number
}

TEST_CASE("who was in no round yet enters one of any number") {
  StayingWorkers workers{1};
  workers.prepare();
  workers.said(says(0, CanStay{kNoRound, /*resize=*/false}));
  workers.said(says(0, Parked{kNoRound}));
  CHECK(workers.parked() == ParkedWorkers{"0"});
  workers.begin_round(4, {}, 3);
  workers.said(says(0, Parked{4}));
  CHECK(workers.parked() == ParkedWorkers{"0", 3});
}

TEST_CASE("words of workers that are not there are passed over") {
  StayingWorkers workers{1};
  workers.begin_round(1);
  workers.said(says(-1, CanStay{1}));
  workers.said(says(1, CanStay{1}));
  workers.ended(7);
  CHECK_FALSE(workers.leave());
}

}  // namespace
}  // namespace ddprun
