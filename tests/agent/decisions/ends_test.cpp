// AgentMachine and the ends of its workers: what it tells the coordinator of them, and in whose
// time.
#include <algorithm>
#include <csignal>
#include <string>
#include <utility>
#include <vector>

#include "agent/decisions/agent_machine.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;

class EndsFixture {
 protected:
  /// The coordinator's clock is 7 s ahead, and each way to it takes 10 ms.
  void joins() {
    const TimePoint asked = now_;
    now_ += 20ms;
    step(Connected{asked});
    step(Ordered{Joined{5000, microseconds(asked + 10ms + 7s)}});
  }
  void step(const AgentEvent& event) {
    for (AgentAction& action : machine_.step(event, now_)) actions_.push_back(std::move(action));
  }
  void runs_round(int round) { step(Ordered{StartRound{.round = round}}); }
  void is_stopped(int round) { step(Ordered{StopRound{round, "why"}}); }
  void ends(int rank, Blame blame, ExitStatus status, std::int64_t step_done = -1,
            Consequence consequence = Consequence::kNone) {
    const WorkerEnd end{.ranks = std::to_string(rank),
                        .blame = blame,
                        .consequence = consequence,
                        .status = status,
                        .began_us = microseconds(now_),
                        .ended_us = microseconds(now_)};
    step(WorkerExited{WorkerFailure{.rank = rank, .status = status}, end, step_done});
  }
  /// What it has told, in its order, since the last call.
  std::vector<AgentMessage> told() {
    std::vector<AgentMessage> out;
    for (const AgentAction& action : std::exchange(actions_, {}))
      if (const auto* tell = std::get_if<Tell>(&action)) out.push_back(tell->message);
    return out;
  }
  /// The ranks of whose failures it has told since the last call, and how many workers were left.
  std::vector<std::pair<int, int>> failures_told() {
    std::vector<std::pair<int, int>> out;
    for (const AgentMessage& message : told())
      if (const auto* failed = std::get_if<WorkerFailed>(&message))
        out.emplace_back(failed->failure.rank, failed->left);
    return out;
  }
  const RoundOutcome& outcome() const { return machine_.outcome(); }

  TimePoint now_{100s};

 private:
  AgentMachine machine_{{.workers = 4, .terms = {.heartbeat_timeout = 24h}}};
  std::vector<AgentAction> actions_;
};

TEST_CASE_METHOD(EndsFixture, "the ends of workers are reported before they count as stopped") {
  joins();
  runs_round(1);
  ends(0, Blame::kOwn, {.code = 3}, 120);
  is_stopped(1);
  ends(1, Blame::kStopped, {.signal = SIGTERM}, 119);
  told();
  step(TreeGone{});
  const auto messages = told();
  REQUIRE(messages.size() == 2);
  const auto& ended = std::get<WorkersEnded>(messages[0]);
  CHECK(ended.round == 1);
  CHECK(ended.step == 120);
  REQUIRE(ended.ends.size() == 2);
  CHECK(ended.ends[0].ranks == "0");
  CHECK(ended.ends[0].began_us == microseconds(now_ + 7s));
  CHECK(messages[1] == AgentMessage{WorkersStopped{1}});
}

TEST_CASE_METHOD(EndsFixture,
                 "the texts of a cause that ended later than its follower are sent, too") {
  joins();
  runs_round(1);
  ends(0, Blame::kFollows, {.code = 1});
  is_stopped(1);
  ends(1, Blame::kPerhaps, {.code = 1});
  told();
  step(TreeGone{});
  const auto messages = told();
  REQUIRE(messages.size() == 3);
  CHECK(std::get<WorkerFailed>(messages[0]).failure.rank == 1);
  CHECK(std::get<WorkerFailed>(messages[0]).end.blame == Blame::kPerhaps);
  CHECK(outcome().failures.size() == 2);
  CHECK(outcome().stopped.empty());
}

TEST_CASE_METHOD(EndsFixture, "a failure is reported with what it is, in the coordinator's time") {
  joins();
  runs_round(1);
  told();
  ends(0, Blame::kFollows, {.code = 1}, -1, Consequence::kConnectionReset);
  const auto failed = std::get<WorkerFailed>(told().front());
  CHECK(failed.end.consequence == Consequence::kConnectionReset);
  CHECK(failed.end.began_us == microseconds(now_ + 7s));
}

using Failures = std::vector<std::pair<int, int>>;
constexpr ExitStatus kFailed{.code = 1};

TEST_CASE_METHOD(EndsFixture,
                 "a failure that explains more than the one reported before is reported, too") {
  joins();
  runs_round(1);
  told();
  ends(2, Blame::kFollows, kFailed, -1, Consequence::kConnectionReset);
  CHECK(failures_told() == Failures{{2, 3}});
  ends(3, Blame::kFollows, kFailed, -1, Consequence::kBrokenPipe);
  CHECK(failures_told().empty());
  ends(1, Blame::kFollows, kFailed, -1, Consequence::kCollectiveTimedOut);
  CHECK(failures_told() == Failures{{1, 1}});
  ends(0, Blame::kOwn, kFailed);
  CHECK(failures_told() == Failures{{0, 0}});
}

TEST_CASE_METHOD(EndsFixture, "the end of all workers is reported while nothing has explained it") {
  joins();
  runs_round(1);
  told();
  ends(2, Blame::kFollows, kFailed, -1, Consequence::kConnectionReset);
  ends(1, Blame::kDone, {});
  ends(3, Blame::kFollows, kFailed, -1, Consequence::kConnectionReset);
  told();
  ends(0, Blame::kDone, {});
  CHECK(failures_told() == Failures{{2, 0}});
}

TEST_CASE_METHOD(EndsFixture, "after a cause nothing more is reported") {
  joins();
  runs_round(1);
  ends(0, Blame::kOwn, kFailed);
  told();
  for (const int rank : {1, 2, 3}) ends(rank, Blame::kOwn, kFailed);
  CHECK(failures_told().empty());
}

TEST_CASE_METHOD(EndsFixture, "each answered beat makes the clocks' difference better known") {
  now_ = TimePoint{200s};
  step(Connected{now_ - 400ms});
  step(Ordered{Joined{5000, microseconds(now_ + 7s)}});  // 200 ms wrong
  step(Ordered{Beat{microseconds(now_ - 1ms + 7s), microseconds(now_ - 2ms)}});
  runs_round(1);
  ends(0, Blame::kOwn, {.code = 3});
  ends(1, Blame::kOwn, {.code = 3});
  is_stopped(1);
  told();
  step(TreeGone{});
  CHECK(std::get<WorkersEnded>(told().front()).ends[0].began_us == microseconds(now_ + 7s));
}

}  // namespace
}  // namespace ddprun
