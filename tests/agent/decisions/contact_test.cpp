// AgentMachine and the coordinator: how long it tries to reach it, when it shows that it is alive,
// when it gives it up; and what it remembers of the workers' ends.
#include <algorithm>
#include <csignal>

#include "tests/agent/decisions/agent_fixture.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;
constexpr ExitStatus kTerminated{.signal = SIGTERM};

// An agent with two workers that may join again. Its own heartbeat timeout is 8 s; that of the
// coordinator, once it has said so, is 5 s.
class ContactFixture : protected MachineFixture {
 protected:
  ContactFixture()
      : MachineFixture{{.workers = 2, .terms = {.heartbeat_timeout = 8s}, .rejoin = true}} {
    step(AgentBegins{});
  }

  void joins() {
    step(Connected{});
    step(Ordered{Joined{5000}});
  }
  void runs_round(int round) {
    step(Ordered{StartRound{.round = round}});
    took<StartWorkers>();
  }
  void exits(int rank, ExitStatus how) {
    step(WorkerExited{WorkerFailure{.rank = rank, .status = how}});
  }
  void workers_end() {
    for (const int rank : {0, 1}) exits(rank, kTerminated);
    step(TreeGone{});
  }
  /// As passes(), beside a coordinator that answers every second.
  void passes_answered(std::chrono::seconds time) {
    for (auto second = 0s; second < time; ++second) {
      passes(1s);
      step(Ordered{Beat{}});
    }
  }
  template <typename Action>
  int took() {
    return static_cast<int>(std::erase_if(
        actions_, [](const AgentAction& a) { return std::holds_alternative<Action>(a); }));
  }
  int took_beats() {
    return static_cast<int>(std::erase_if(actions_, [](const AgentAction& action) {
      const auto* tell = std::get_if<Tell>(&action);
      return tell && std::holds_alternative<Beat>(tell->message);
    }));
  }
  /// Why it ends; REQUIREs that it does.
  AgentEnd::Why ended() {
    const auto found = std::ranges::find_if(
        actions_, [](const AgentAction& a) { return std::holds_alternative<Exit>(a); });
    REQUIRE(found != actions_.end());
    return std::get<Exit>(*found).end.why;
  }
  /// With which patience it wants to be connected; REQUIREs that it does.
  Patience wanted() { return wish().patience; }
  /// How it wants to be connected.
  ReachCoordinator wish() {
    const auto found = std::ranges::find_if(actions_, [](const AgentAction& action) {
      return std::holds_alternative<ReachCoordinator>(action);
    });
    REQUIRE(found != actions_.end());
    const ReachCoordinator wish = std::get<ReachCoordinator>(*found);
    actions_.erase(found);
    return wish;
  }
};

TEST_CASE_METHOD(ContactFixture, "a coordinator that does not listen yet is waited for") {
  CHECK(wanted() == Patience{600s, 600s, 8s});
}

TEST_CASE_METHOD(ContactFixture, "a coordinator is given up when no process listens any more") {
  wanted();
  joins();
  step(CoordinatorLost{"connection reset"});
  CHECK(wanted() == Patience{600s, 5s, 5s});
  step(Connected{});
  step(CoordinatorLost{"connection reset"});
  CHECK(wanted() == Patience{600s, 5s, 5s});
}

TEST_CASE_METHOD(ContactFixture, "one that hangs up again and again has longer pauses") {
  CHECK(wish().pause == 0ms);
  std::vector<std::chrono::milliseconds> pauses;
  for (int losses = 0; losses < 10; ++losses) {
    joins();
    step(CoordinatorLost{"connection closed"});
    pauses.push_back(wish().pause);
  }
  CHECK(pauses == std::vector<std::chrono::milliseconds>{0ms, 10ms, 20ms, 40ms, 80ms, 160ms, 320ms,
                                                         640ms, 1000ms, 1000ms});
  SECTION("a round ends the row") {
    joins();
    runs_round(1);
    step(CoordinatorLost{"connection closed"});
    workers_end();
    CHECK(wish().pause == 0ms);
  }
  SECTION("so does a connection that holds") {
    joins();
    now_ += 8s;
    step(CoordinatorLost{"connection closed"});
    CHECK(wish().pause == 0ms);
  }
  SECTION("and it is given up when the time to join is over") {
    now_ += 600s;
    joins();
    step(CoordinatorLost{"connection closed"});
    CHECK(ended() == AgentEnd::Why::kCoordinatorLost);
  }
}

TEST_CASE_METHOD(ContactFixture, "a coordinator that cannot be reached ends the agent") {
  step(CoordinatorUnreachable{"connection refused"});
  REQUIRE(took<Exit>() == 1);
  step(Connected{});
  CHECK(actions_.size() == 1);  // the wish to reach it
}

TEST_CASE_METHOD(ContactFixture, "an answer may take 3 s, though beats may not") {
  wanted();
  step(Connected{});
  step(Ordered{Joined{200}});
  step(CoordinatorLost{"connection reset"});
  CHECK(wanted() == Patience{600s, 200ms, 3s});
}

TEST_CASE_METHOD(ContactFixture, "only a coordinator that was there can be lost") {
  wanted();
  SECTION("it has never answered") {
    step(CoordinatorUnreachable{"no answer"});
    CHECK(ended() == AgentEnd::Why::kNoCoordinator);
  }
  SECTION("it was there, and does not come back") {
    joins();
    step(CoordinatorLost{"connection reset"});
    step(CoordinatorUnreachable{"no answer"});
    CHECK(ended() == AgentEnd::Why::kCoordinatorLost);
  }
}

TEST_CASE_METHOD(ContactFixture, "it beats five times in each heartbeat timeout, once it joined") {
  step(Connected{});
  passes(4s);
  CHECK(took_beats() == 0);
  step(Ordered{Joined{5000}});
  passes(999ms);
  CHECK(took_beats() == 0);
  passes(1ms);
  CHECK(took_beats() == 1);
  passes_answered(10s);
  CHECK(took_beats() == 10);
}

TEST_CASE_METHOD(ContactFixture, "it beats while workers run, are stopped, and are cleaned up") {
  joins();
  runs_round(1);
  passes_answered(2s);
  CHECK(took_beats() == 2);
  step(Ordered{StopRound{1, "why"}});
  passes_answered(2s);
  CHECK(took_beats() == 2);
  exits(0, kTerminated);
  exits(1, kTerminated);
  passes_answered(2s);
  CHECK(took_beats() == 2);
}

TEST_CASE_METHOD(ContactFixture, "it beats no more over a connection that it has lost") {
  joins();
  step(CoordinatorLost{"connection reset"});
  passes(60s);
  CHECK(took_beats() == 0);
  CHECK_FALSE(machine_.next_alarm().has_value());
}

TEST_CASE_METHOD(ContactFixture, "it beats again once it joined again") {
  joins();
  step(CoordinatorLost{"connection reset"});
  joins();
  passes_answered(3s);
  CHECK(took_beats() == 3);
}

TEST_CASE_METHOD(ContactFixture, "it beats no more after its end") {
  joins();
  step(StopSignal{SIGTERM});
  REQUIRE(took<Exit>() == 1);
  CHECK_FALSE(machine_.next_alarm().has_value());
}

class AloneFixture : protected MachineFixture {
 protected:
  AloneFixture() : MachineFixture{{.terms = {.heartbeat_timeout = 5s}, .counts_silence = false}} {
    step(AgentBegins{});
  }
};

TEST_CASE_METHOD(AloneFixture,
                 "a coordinator in the agent's own process may be as busy as it likes") {
  step(Connected{});
  step(Ordered{Joined{5000}});
  step(Ordered{StartRound{.round = 1}});
  passes(60s);
  CHECK_FALSE(took<Disconnect>().has_value());
}

TEST_CASE_METHOD(ContactFixture, "an agent that slept itself beats as soon as it wakes") {
  joins();
  now_ += 60s;
  step(Alarm{});
  CHECK(took_beats() == 1);
  CHECK(took<Disconnect>() == 0);
}

TEST_CASE_METHOD(ContactFixture, "the shortest heartbeat timeout does not let the clock spin") {
  step(Connected{});
  step(Ordered{Joined{1}});
  CHECK(*machine_.next_alarm() > now_);
}

TEST_CASE_METHOD(ContactFixture, "a lost coordinator is joined again once the workers are gone") {
  wanted();
  joins();
  runs_round(1);
  step(CoordinatorLost{"connection reset"});
  CHECK(took<SignalWorkers>() == 2);
  CHECK(took<ReachCoordinator>() == 0);
  workers_end();
  CHECK(took<ReachCoordinator>() == 1);
  CHECK(took<Tell>() == 0);
  joins();
  step(Ordered{StartRound{.round = 5}});
  CHECK(took<StartWorkers>() == 1);
}

TEST_CASE_METHOD(ContactFixture, "a coordinator that is silent for too long is lost") {
  wanted();
  joins();
  runs_round(1);
  passes(4s);
  step(Ordered{Beat{}});
  passes(5s - 1ms);
  CHECK(took<Disconnect>() == 0);
  passes(1ms);
  CHECK(took<Disconnect>() == 1);
  CHECK(took<SignalWorkers>() == 2);
  workers_end();
  CHECK(took<ReachCoordinator>() == 1);
}

TEST_CASE_METHOD(ContactFixture, "an agent that slept itself does not blame the coordinator") {
  joins();
  now_ += 60s;
  step(Alarm{});
  passes(5s - 1ms);
  CHECK(took<Disconnect>() == 0);
  passes(1ms);
  CHECK(took<Disconnect>() == 1);
}

TEST_CASE_METHOD(ContactFixture,
                 "what still arrives of a connection that was given up is ignored") {
  joins();
  passes(5s);
  CHECK(took<Disconnect>() == 1);
  step(Ordered{StartRound{.round = 2}});
  CHECK(took<StartWorkers>() == 0);
}

TEST_CASE_METHOD(ContactFixture, "a coordinator that cannot be reached again ends the agent") {
  joins();
  runs_round(1);
  step(CoordinatorLost{"connection reset"});
  workers_end();
  step(CoordinatorUnreachable{"connection refused"});
  CHECK(took<Exit>() == 1);
}

TEST_CASE_METHOD(ContactFixture, "a job that has ended is not joined again") {
  wanted();
  joins();
  runs_round(1);
  step(Ordered{EndJob{}});
  step(CoordinatorLost{"closed"});
  workers_end();
  CHECK(took<ReachCoordinator>() == 0);
  CHECK(took<Exit>() == 1);
}

// --- what it tells a coordinator that may know nothing ---

TEST_CASE_METHOD(ContactFixture, "it tells how far the job was, by all that it has heard") {
  CHECK(wish().counters == JobCounters{0, 0});
  joins();
  runs_round(3);
  step(Ordered{StopRound{3, "rank 0 failed", 0, 2}});
  step(CoordinatorLost{"connection reset"});
  workers_end();
  CHECK(wish().counters == JobCounters{3, 2});
}

TEST_CASE_METHOD(ContactFixture, "a spare tells how far the job was") {
  wish();
  joins();
  step(Ordered{Spare{7, 2, 1}});
  step(CoordinatorLost{"connection reset"});
  CHECK(wish().counters == JobCounters{7, 1});
}

TEST_CASE_METHOD(ContactFixture, "an order that comes too late to be obeyed is still noted") {
  wish();
  joins();
  runs_round(3);
  exits(0, {.code = 1});
  step(Ordered{StopRound{2, "late", 0, 1}});
  CHECK(took<SignalWorkers>() == 0);
  step(CoordinatorLost{"connection reset"});
  exits(1, kTerminated);
  step(TreeGone{});
  CHECK(wish().counters == JobCounters{3, 1});
}

// --- what is remembered of the workers' ends ---

TEST_CASE_METHOD(ContactFixture, "workers that fail by themselves differ from those it stopped") {
  joins();
  runs_round(1);
  exits(1, {.code = 3});
  step(Ordered{StopRound{1, "rank 1 failed"}});
  exits(0, kTerminated);
  REQUIRE(machine_.outcome().failures.size() == 1);
  CHECK(machine_.outcome().failures.front().rank == 1);
  CHECK(machine_.outcome().stopped.size() == 1);
}

TEST_CASE_METHOD(ContactFixture, "failures are remembered in the order in which they came") {
  joins();
  runs_round(1);
  exits(1, {.code = 3});
  exits(0, {.signal = SIGSEGV});
  REQUIRE(machine_.outcome().failures.size() == 2);
  CHECK(machine_.outcome().failures[0].rank == 1);
  CHECK(machine_.outcome().failures[1].status.signal == SIGSEGV);
  CHECK(machine_.outcome().stopped.empty());
}

TEST_CASE_METHOD(ContactFixture, "a worker that wrote its checkpoint and exited was stopped") {
  joins();
  runs_round(1);
  step(Ordered{StopRound{1, "SIGUSR1", 60'000}});
  exits(0, {.code = 0});
  exits(1, {.code = 1});
  CHECK(machine_.outcome().failures.empty());
  CHECK(machine_.outcome().stopped.size() == 2);
}

TEST_CASE_METHOD(ContactFixture, "a signal that is passed on stops nobody") {
  joins();
  runs_round(1);
  step(PassOn{SIGUSR1});
  exits(0, {.signal = SIGUSR1});
  CHECK(machine_.outcome().failures.size() == 1);
  CHECK(machine_.outcome().stopped.empty());
}

TEST_CASE_METHOD(ContactFixture, "a worker that succeeds is neither a failure nor stopped") {
  joins();
  runs_round(1);
  exits(0, {});
  CHECK(machine_.outcome().failures.empty());
  CHECK(machine_.outcome().stopped.empty());
}

TEST_CASE_METHOD(ContactFixture, "a new round begins with nothing remembered") {
  joins();
  runs_round(1);
  exits(1, {.code = 3});
  step(Ordered{StopRound{1, "rank 1 failed"}});
  exits(0, kTerminated);
  step(TreeGone{});
  CHECK(machine_.outcome().failures.size() == 1);  // the report at the end is about it
  runs_round(2);
  CHECK(machine_.outcome().failures.empty());
  CHECK(machine_.outcome().stopped.empty());
}

}  // namespace
}  // namespace ddprun
