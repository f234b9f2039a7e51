#include "rendezvous/rounds/connect_plan.hpp"

#include <vector>

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using Failure = ConnectPlan::Failure;

// Attempts whose answers come at once; the fixture waits as the plan says and counts the time.
class ConnectFixture {
 protected:
  explicit ConnectFixture(Patience patience = {10s, 3s}) : plan_{patience, TimePoint{}} {}

  /// One attempt that fails; false: it was the last one.
  bool fails(Failure how) {
    const auto pause = plan_.pause_after(how, TimePoint{} + passed_);
    if (pause) passed_ += *pause;
    return pause.has_value();
  }
  void passes(milliseconds time) { passed_ += time; }
  void fails_to_the_end(Failure how) {
    while (fails(how)) continue;
  }

  ConnectPlan plan_;
  milliseconds passed_{};
};

TEST_CASE_METHOD(ConnectFixture, "pauses between attempts grow from 10 ms to 1 s") {
  std::vector<milliseconds> pauses;
  for (int i = 0; i < 9; ++i)
    pauses.push_back(plan_.pause_after(Failure::kOther, TimePoint{}).value());
  CHECK(pauses ==
        std::vector<milliseconds>{10ms, 20ms, 40ms, 80ms, 160ms, 320ms, 640ms, 1000ms, 1000ms});
}

TEST_CASE_METHOD(ConnectFixture, "without an answer it is tried for the whole patience") {
  fails_to_the_end(Failure::kOther);
  CHECK(passed_ > 9s);
  CHECK(passed_ < 10s);
}

TEST_CASE_METHOD(ConnectFixture, "a host where nobody listens is given up sooner") {
  fails_to_the_end(Failure::kRefused);
  CHECK(passed_ > 2s - 1ms);
  CHECK(passed_ < 3s);
}

TEST_CASE_METHOD(ConnectFixture, "a failure that is no refusal begins that shorter time anew") {
  passes(2s);
  REQUIRE(fails(Failure::kOther));
  fails_to_the_end(Failure::kRefused);
  CHECK(passed_ > 4s - 1ms);
  CHECK(passed_ < 5010ms);
}

TEST_CASE_METHOD(ConnectFixture, "refusals do not make the whole patience longer") {
  passes(9s);
  REQUIRE(fails(Failure::kOther));
  fails_to_the_end(Failure::kRefused);
  CHECK(passed_ < 10s);
}

TEST_CASE("no attempt is made that would come after the end of the patience") {
  ConnectPlan plan{{100ms, 100ms}, TimePoint{}};
  CHECK(plan.deadline() == TimePoint{} + 100ms);
  CHECK(plan.pause_after(Failure::kRefused, TimePoint{} + 89ms) == 10ms);
  CHECK_FALSE(plan.pause_after(Failure::kRefused, TimePoint{} + 80ms).has_value());
}

TEST_CASE("no patience with refusals means one attempt") {
  ConnectPlan plan{{10s, 0ms}, TimePoint{}};
  CHECK_FALSE(plan.pause_after(Failure::kRefused, TimePoint{}).has_value());
}

}  // namespace
}  // namespace ddprun
