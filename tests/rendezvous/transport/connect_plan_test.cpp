#include "rendezvous/transport/connect_plan.hpp"

#include <vector>

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using Why = FailedAttempt::Why;

// Attempts whose answers come at once; the fixture waits as the plan says and counts the time.
class ConnectFixture {
 protected:
  explicit ConnectFixture(Patience patience = {10s, 3s}) : plan_{patience, TimePoint{}} {}

  /// One attempt that fails; false: it was the last one.
  bool fails(Why how) {
    const auto pause = plan_.pause_after(how, TimePoint{} + passed_);
    if (pause) passed_ += *pause;
    return pause.has_value();
  }
  void passes(milliseconds time) { passed_ += time; }
  void fails_to_the_end(Why how) {
    while (fails(how)) continue;
  }

  ConnectPlan plan_;
  milliseconds passed_{};
};

TEST_CASE_METHOD(ConnectFixture, "pauses between attempts grow from 10 ms to 1 s") {
  std::vector<milliseconds> pauses;
  for (int i = 0; i < 9; ++i)
    pauses.push_back(plan_.pause_after(Why::kNoAnswer, TimePoint{}).value());
  CHECK(pauses ==
        std::vector<milliseconds>{10ms, 20ms, 40ms, 80ms, 160ms, 320ms, 640ms, 1000ms, 1000ms});
}

TEST_CASE_METHOD(ConnectFixture, "without an answer it is tried for the whole patience") {
  fails_to_the_end(Why::kNoAnswer);
  CHECK(passed_ > 9s);
  CHECK(passed_ < 10s);
}

TEST_CASE_METHOD(ConnectFixture, "a host where no process listens is given up sooner") {
  fails_to_the_end(Why::kRefused);
  CHECK(passed_ > 2s - 1ms);
  CHECK(passed_ < 3s);
}

TEST_CASE_METHOD(ConnectFixture, "a failure that is no refusal restarts that shorter time") {
  passes(2s);
  REQUIRE(fails(Why::kNoAnswer));
  fails_to_the_end(Why::kRefused);
  CHECK(passed_ > 4s - 1ms);
  CHECK(passed_ < 5010ms);
}

TEST_CASE_METHOD(ConnectFixture, "refusals do not make the whole patience longer") {
  passes(9s);
  REQUIRE(fails(Why::kNoAnswer));
  fails_to_the_end(Why::kRefused);
  CHECK(passed_ < 10s);
}

TEST_CASE("no attempt is made that would come after the end of the patience") {
  ConnectPlan plan{{100ms, 100ms}, TimePoint{}};
  CHECK(plan.deadline() == TimePoint{} + 100ms);
  CHECK(plan.pause_after(Why::kRefused, TimePoint{} + 89ms) == 10ms);
  CHECK_FALSE(plan.pause_after(Why::kRefused, TimePoint{} + 80ms).has_value());
}

TEST_CASE("a peer that hangs up is asked again for a moment: it may be a process that is ending") {
  ConnectPlan plan{{10s, 0ms}, TimePoint{}};
  CHECK(plan.pause_after(Why::kHungUp, TimePoint{}) == 10ms);
  CHECK_FALSE(plan.pause_after(Why::kRefused, TimePoint{} + 10ms).has_value());

  ConnectPlan other{{10s, 0ms}, TimePoint{}};
  TimePoint now{};
  for (int i = 0; i < ConnectPlan::kHangUpsMax; ++i) {
    const auto pause = other.pause_after(Why::kHungUp, now);
    REQUIRE(pause.has_value());
    now += *pause;
  }
  CHECK_FALSE(other.pause_after(Why::kHungUp, now).has_value());
}

TEST_CASE("no patience with refusals means one attempt") {
  ConnectPlan plan{{10s, 0ms}, TimePoint{}};
  CHECK_FALSE(plan.pause_after(Why::kRefused, TimePoint{}).has_value());
}

TEST_CASE("an attempt has 3 s to connect and its own time to be answered, within the patience") {
  const ConnectPlan plan{{60s, 60s, 8s}, TimePoint{}};
  CHECK(plan.connected_by(TimePoint{} + 10s) == TimePoint{} + 13s);
  CHECK(plan.answered_by(TimePoint{} + 10s) == TimePoint{} + 18s);
  CHECK(plan.connected_by(TimePoint{} + 59s) == TimePoint{} + 60s);
  CHECK(plan.answered_by(TimePoint{} + 59s) == TimePoint{} + 60s);
}

TEST_CASE_METHOD(ConnectFixture,
                 "who listens and is no coordinator is tried for the whole patience") {
  for (const Why how : {Why::kSilent, Why::kHungUp, Why::kStranger}) {
    CAPTURE(how);
    plan_ = ConnectPlan{{10s, 3s}, TimePoint{} + passed_};
    const auto before = passed_;
    fails_to_the_end(how);
    CHECK(passed_ - before > 9s);
    CHECK(passed_ - before < 10s);
  }
}

TEST_CASE_METHOD(ConnectFixture,
                 "a note says after 2 s, and then every 30 s, how long it may take") {
  plan_ = ConnectPlan{{600s, 600s}, TimePoint{}};
  const FailedAttempt refused{Why::kRefused, "Connection refused"};
  const Endpoint there{"h0", 29400};
  CHECK(plan_.note_due() == TimePoint{} + 2s);
  fails(Why::kRefused);
  CHECK(plan_.note(refused, there, TimePoint{} + 2s) ==
        "cannot reach the coordinator at h0:29400: Connection refused; giving up in 598 s");
  CHECK(plan_.note_due() == TimePoint{} + 32s);
}

TEST_CASE("the time that is left is that for refusals while there are no others") {
  ConnectPlan plan{{600s, 5s}, TimePoint{}};
  const Endpoint there{"h0", 29400};
  plan.pause_after(Why::kRefused, TimePoint{} + 1s);
  CHECK_THAT(plan.note({Why::kRefused, ""}, there, TimePoint{} + 2s), contains("giving up in 3 s"));
  plan.pause_after(Why::kNoAnswer, TimePoint{} + 3s);
  CHECK_THAT(plan.note({Why::kNoAnswer, ""}, there, TimePoint{} + 3s),
             contains("giving up in 597 s"));
}

TEST_CASE("what an attempt has found is reported in a sentence") {
  const Endpoint there{"h0", 29400};
  struct Case {
    FailedAttempt attempt;
    const char* sentence;
  };
  const std::vector<Case> cases = {
      {{Why::kRefused, "Connection refused"},
       "cannot reach the coordinator at h0:29400: Connection refused"},
      {{Why::kNoAnswer, "no answer"}, "cannot reach the coordinator at h0:29400: no answer"},
      {{Why::kUnresolved, "there is no address for the name 'h0'"},
       "cannot reach the coordinator at h0:29400: there is no address for the name 'h0'"},
      {{Why::kSilent, ""},
       "something listens at h0:29400, but it does not answer as a coordinator does"},
      {{Why::kHungUp, ""},
       "something listens at h0:29400, but it hangs up on nodes that want to join"},
      {{Why::kStranger, ""},
       "something listens at h0:29400, but it does not speak ddprun's protocol"},
      {{Why::kStranger, "it said 'HTTP/1.0'"},
       "something listens at h0:29400, but it does not speak ddprun's protocol: it said "
       "'HTTP/1.0'"},
  };
  for (const Case& c : cases) CHECK(describe(c.attempt, there) == c.sentence);
  CHECK_THAT(describe({Why::kSilent, ""}, {"fd77::1", 29400}), contains("at [fd77::1]:29400,"));
}

}  // namespace
}  // namespace ddprun
