// AgentMachine between its workers and the coordinator: what it tells of their progress, and how it
// answers when it is asked what they do.
#include <csignal>

#include "agent/decisions/agent_machine.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;

/// An agent with two workers in round 1. The coordinator's heartbeat timeout is 5 s.
class WatchingFixture {
 protected:
  void runs(int world_size = 100) {
    step(AgentBegins{});
    step(Connected{});
    step(Ordered{Joined{.heartbeat_timeout_ms = 5000}});
    step(Ordered{StartRound{.round = 1, .world_size = world_size}});
  }
  void step(const AgentEvent& event) { actions_ = machine_.step(event, now_); }
  void passes(std::chrono::milliseconds time) {
    now_ += time;
    step(Alarm{});
  }
  template <typename Message>
  std::vector<Message> told() const {
    std::vector<Message> messages;
    for (const AgentAction& action : actions_)
      if (const auto* tell = std::get_if<Tell>(&action))
        if (const auto* message = std::get_if<Message>(&tell->message))
          messages.push_back(*message);
    return messages;
  }
  int looks() const {
    return static_cast<int>(std::ranges::count_if(actions_, [](const AgentAction& action) {
      return std::holds_alternative<InspectWorkers>(action);
    }));
  }

  AgentMachine machine_{AgentRules{.workers = 2}};
  TimePoint now_{};
  std::vector<AgentAction> actions_;
};

TEST_CASE_METHOD(WatchingFixture, "progress goes with the next beat, the last of each rank") {
  runs();
  step(WorkerProgressed{{.rank = 0, .step = 1}});
  step(WorkerProgressed{{.rank = 1, .step = 1}});
  now_ += 400ms;
  step(WorkerProgressed{{.rank = 0, .step = 2}});
  CHECK(actions_.empty());
  passes(600ms);
  REQUIRE(told<Progress>().size() == 1);
  const Progress progress = told<Progress>()[0];
  CHECK(progress.round == 1);
  REQUIRE(progress.ranks.size() == 2);
  CHECK(progress.ranks[0].step == 2);
  CHECK(progress.ranks[0].still_ms == 600);
  CHECK(progress.ranks[1].still_ms == 1000);
  passes(1s);
  CHECK(told<Beat>().size() == 1);
  CHECK(told<Progress>().empty());
}

TEST_CASE_METHOD(WatchingFixture, "the time of a first step is that of the message, too") {
  runs();
  step(WorkerProgressed{{.rank = 0, .step = 9, .first_step = 3, .first_ms = 200}});
  step(WorkerProgressed{{.rank = 1, .step = 9}});
  passes(1s);
  CHECK(told<Progress>().at(0).ranks.at(0).first_ms == 1200);
  CHECK(told<Progress>().at(0).ranks.at(1).first_ms == -1);
}

TEST_CASE_METHOD(WatchingFixture, "how far workers came is reported before their round ends") {
  runs();
  step(WorkerProgressed{{.rank = 0, .step = 2000}});
  step(WorkerExited{WorkerFailure{.rank = 0}});
  CHECK(told<Progress>().empty());
  SECTION("well") { step(WorkerExited{WorkerFailure{.rank = 1}}); }
  SECTION("with a failure") { step(WorkerExited{WorkerFailure{.rank = 1, .status = {.code = 3}}}); }
  REQUIRE_FALSE(actions_.empty());
  const auto* const first = std::get_if<Tell>(&actions_.front());
  REQUIRE(first != nullptr);
  REQUIRE(std::holds_alternative<Progress>(first->message));
  CHECK(std::get<Progress>(first->message).ranks.at(0).step == 2000);
}

TEST_CASE_METHOD(WatchingFixture, "a node that is stopped reports how far it came before it goes") {
  runs();
  step(StopSignal{SIGTERM});
  step(WorkerProgressed{{.rank = 0, .step = 7}});
  step(WorkerExited{WorkerFailure{.rank = 0, .status = {.signal = SIGTERM}}});
  CHECK(told<Progress>().at(0).ranks.at(0).step == 7);
}

TEST_CASE_METHOD(WatchingFixture, "the progress of many workers goes in several messages") {
  runs();
  for (int rank = 0; rank < 100; ++rank) step(WorkerProgressed{{.rank = rank}});
  passes(1s);
  REQUIRE(told<Progress>().size() == 2);
  CHECK(told<Progress>()[0].ranks.size() == kProgressRanksMax);
  CHECK(told<Progress>()[1].ranks.size() == 100 - kProgressRanksMax);
}

TEST_CASE_METHOD(WatchingFixture, "arrivals are reported at once, in the coordinator's time") {
  const Arrivals arrivals{.rank = 1, .groups = {{"0", 7, 200, {50}}}};
  step(WorkerArrived{arrivals});
  CHECK(told<Arrivals>().empty());  // no round runs
  runs();
  now_ += 1s;
  step(Ordered{Beat{.clock_us = microseconds(now_) + 9'000, .echo_us = microseconds(now_)}});
  step(WorkerArrived{arrivals});
  REQUIRE(told<Arrivals>().size() == 1);
  CHECK(told<Arrivals>()[0].round == 1);
  CHECK(told<Arrivals>()[0].groups == std::vector<GroupArrivals>{{"0", 7, 9'200, {50}}});
}

TEST_CASE_METHOD(WatchingFixture, "of many workers the arrivals of some looks are reported") {
  runs(64 * kArrivalsPerSecond);
  int times = 0;
  for (int second = 0; second < 64; second += 16) {
    step(WorkerArrived{{.rank = 0, .look = second, .groups = {{"0", 7, 200, {}}}}});
    times += static_cast<int>(told<Arrivals>().size());
  }
  CHECK(times == 1);
  for (int second = 0; second < 64; ++second) {
    step(WorkerArrived{{.rank = 0, .look = second, .groups = {{"0", 7, 200, {}}}}});
    times += static_cast<int>(told<Arrivals>().size());
  }
  CHECK(times == 2);  // also where looks are a second apart
}

TEST_CASE_METHOD(WatchingFixture, "progress of an earlier round is not told") {
  runs();
  step(WorkerProgressed{{.rank = 0}});
  step(Ordered{StopRound{.round = 1}});
  step(WorkerExited{WorkerFailure{.rank = 0}});
  step(WorkerExited{WorkerFailure{.rank = 1}});
  step(TreeGone{});
  step(WorkerProgressed{{.rank = 1}});
  step(Ordered{StartRound{.round = 2}});
  passes(1s);
  CHECK(told<Progress>().empty());
}

TEST_CASE_METHOD(WatchingFixture, "what workers do is found out, and told group by group") {
  runs();
  step(Ordered{Inspect{1, 7, false}});
  CHECK(looks() == 1);
  step(WorkersInspected{7, {{.ranks = "0"}, {.ranks = "1"}}});
  REQUIRE(told<Inspected>().size() == 2);
  CHECK(told<Inspected>()[0].inspection == 7);
  CHECK_FALSE(told<Inspected>()[0].last);
  CHECK(told<Inspected>()[1].last);
  step(WorkersInspected{7, {}});
  REQUIRE(told<Inspected>().size() == 1);
  CHECK(told<Inspected>()[0].last);
}

TEST_CASE_METHOD(WatchingFixture, "nobody looks at workers of another round") {
  runs();
  step(Ordered{Inspect{2, 7, false}});
  CHECK(looks() == 0);
}

}  // namespace
}  // namespace ddprun
