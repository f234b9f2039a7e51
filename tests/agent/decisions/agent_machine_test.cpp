#include <algorithm>
#include <csignal>

#include "rendezvous/messages/job_terms.hpp"
#include "tests/agent/decisions/agent_fixture.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;

// Two workers; the fixture gives orders, lets workers exit and remembers what the machine wanted.
class AgentMachineFixture : protected MachineFixture {
 protected:
  AgentMachineFixture()
      : MachineFixture{
            {.workers = 2, .terms = {.heartbeat_timeout = 24h, .shutdown_timeout = 30s}}} {
    step(Connected{});
  }
  void ordered(const CoordinatorMessage& message) { step(Ordered{message}); }
  void starts_round(int round) { ordered(StartRound{.round = round}); }
  void exits(ExitStatus status, int rank = 0) {
    step(WorkerExited{WorkerFailure{.rank = rank, .status = status}});
  }
  void workers_run() { step(WorkersRun{}); }
  void gets(int signal) { step(StopSignal{signal}); }
  void is_announced(int signal) { step(EndAnnounced{signal}); }
  void passes_on(int signal) { step(PassOn{signal}); }
  bool waits() const { return *machine_.next_alarm() < now_ + 1h; }
  void tree_is_gone() { step(TreeGone{}); }
  void loses_coordinator() { step(CoordinatorLost{"connection closed"}); }
  /// Takes the actions of one kind out of those that piled up.
  template <typename Action>
  std::vector<Action> took() {
    std::vector<Action> taken;
    std::erase_if(actions_, [&](const AgentAction& action) {
      const auto* found = std::get_if<Action>(&action);
      if (found) taken.push_back(*found);
      return found != nullptr;
    });
    return taken;
  }
  template <typename Message>
  std::vector<Message> told() {
    std::vector<Message> messages;
    std::erase_if(actions_, [&](const AgentAction& action) {
      const auto* tell = std::get_if<Tell>(&action);
      const auto* found = tell ? std::get_if<Message>(&tell->message) : nullptr;
      if (found) messages.push_back(*found);
      return found != nullptr;
    });
    return messages;
  }
  std::vector<int> signals() {
    std::vector<int> out;
    for (const SignalWorkers& s : took<SignalWorkers>()) out.push_back(s.signal);
    return out;
  }
  bool sweeps() { return !took<SweepTree>().empty(); }
};

constexpr ExitStatus kOk{};
constexpr ExitStatus kCrash{.signal = SIGSEGV};
constexpr ExitStatus kStopped{.signal = SIGTERM};
using Signals = std::vector<int>;

TEST_CASE_METHOD(AgentMachineFixture, "the coordinator is informed when workers run") {
  starts_round(1);
  workers_run();
  CHECK(told<WorkersStarted>() == std::vector{WorkersStarted{1}});
  ordered(StopRound{1, "why"});
  workers_run();
  CHECK(told<WorkersStarted>().empty());
}

TEST_CASE_METHOD(AgentMachineFixture, "workers that all exit 0 are reported finished, once") {
  starts_round(1);
  CHECK(took<StartWorkers>().size() == 1);
  exits(kOk);
  CHECK(told<WorkersFinished>().empty());
  exits(kOk);
  CHECK(told<WorkersFinished>().size() == 1);
}

TEST_CASE_METHOD(AgentMachineFixture,
                 "the first failure is reported at once; no worker is stopped unasked") {
  starts_round(1);
  exits(kCrash, 1);
  exits(kStopped, 0);
  const auto failed = told<WorkerFailed>();
  REQUIRE(failed.size() == 1);
  CHECK(failed[0].failure.rank == 1);
  CHECK(failed[0].round == 1);
  CHECK(signals().empty());
}

TEST_CASE_METHOD(AgentMachineFixture,
                 "a round is stopped by SIGTERM, and reported once nothing is left") {
  starts_round(1);
  exits(kCrash);
  ordered(StopRound{1, "rank 0 failed"});
  CHECK(signals() == Signals{SIGTERM, SIGCONT});
  CHECK_FALSE(sweeps());
  exits(kStopped);
  CHECK(sweeps());
  CHECK(told<WorkersStopped>().empty());
  tree_is_gone();
  CHECK(told<WorkersStopped>().size() == 1);
}

TEST_CASE_METHOD(AgentMachineFixture,
                 "workers that ignore SIGTERM are killed when the grace is over") {
  starts_round(1);
  ordered(StopRound{1, "why"});
  passes(29'999ms);
  CHECK(signals() == Signals{SIGTERM, SIGCONT});
  passes(1ms);
  CHECK(signals() == Signals{SIGKILL});
}

TEST_CASE_METHOD(AgentMachineFixture, "nothing waits for the grace when no worker is left") {
  starts_round(1);
  exits(kOk);
  exits(kCrash);
  ordered(StopRound{1, "why"});
  CHECK(signals().empty());
  CHECK(sweeps());
}

TEST_CASE_METHOD(AgentMachineFixture, "the next round starts after the last one is gone") {
  starts_round(1);
  exits(kCrash);
  exits(kOk);
  ordered(StopRound{1, "why"});
  tree_is_gone();
  took<StartWorkers>();
  starts_round(2);
  CHECK(took<StartWorkers>().at(0).round.round == 2);
  exits(kOk);
  exits(kOk);
  CHECK(told<WorkersFinished>().at(0).round == 2);
}

TEST_CASE_METHOD(AgentMachineFixture, "an order to stop an earlier round is ignored") {
  starts_round(2);
  ordered(StopRound{1, "late"});
  CHECK(signals().empty());
}

TEST_CASE_METHOD(AgentMachineFixture,
                 "the end of the job is carried out with nothing left behind") {
  starts_round(1);
  exits(kOk);
  exits(kOk);
  ordered(EndJob{EndJob::Outcome::kFinished, 0, "", {}});
  CHECK(sweeps());
  CHECK(took<Exit>().empty());
  tree_is_gone();
  const auto exit = took<Exit>();
  REQUIRE(exit.size() == 1);
  CHECK(exit[0].end.why == AgentEnd::Why::kJobEnded);
}

TEST_CASE_METHOD(AgentMachineFixture,
                 "a stop signal is handed to the workers, then the node leaves") {
  starts_round(1);
  gets(SIGINT);
  CHECK(signals() == Signals{SIGINT, SIGCONT});
  exits(kStopped);
  exits(kStopped);
  tree_is_gone();
  CHECK(told<Leave>().at(0).reason == "stopped by SIGINT");
  CHECK(took<Exit>().empty());  // it hears first where the time of the job went
  SECTION("the coordinator answers") { ordered(JobTimes{}); }
  SECTION("the coordinator does not answer") { passes(kFarewell); }
  SECTION("the coordinator goes, too") { loses_coordinator(); }
  CHECK(took<Exit>().at(0).end.signal == SIGINT);
  CHECK(told<Leave>().empty());
  CHECK(told<WorkersFinished>().empty());
}

TEST_CASE_METHOD(AgentMachineFixture,
                 "a stop signal before the first round ends the agent at once") {
  gets(SIGTERM);
  CHECK(took<Exit>().at(0).end.why == AgentEnd::Why::kStopSignal);
}

TEST_CASE_METHOD(AgentMachineFixture,
                 "a signal that is not for ddprun goes to the workers, and stops nothing") {
  passes_on(SIGUSR1);
  CHECK(signals().empty());
  starts_round(1);
  passes_on(SIGUSR1);
  const auto sent = took<SignalWorkers>();
  REQUIRE(sent.size() == 1);
  CHECK(sent[0].signal == SIGUSR1);
  CHECK_FALSE(sent[0].to_stop);
  CHECK_FALSE(waits());
}

TEST_CASE_METHOD(AgentMachineFixture, "two SIGTERMs within a moment are one") {
  starts_round(1);
  gets(SIGTERM);
  passes(1ms);
  gets(SIGTERM);
  passes(29'998ms);
  CHECK(signals() == Signals{SIGTERM, SIGCONT});
}

TEST_CASE_METHOD(AgentMachineFixture, "a second Ctrl-C shortens the grace, a third one kills") {
  starts_round(1);
  gets(SIGINT);
  passes(1s);
  SECTION("second") {
    gets(SIGINT);
    passes(kShortGrace - 1ms);
    CHECK(signals() == Signals{SIGINT, SIGCONT});
    passes(1ms);
    CHECK(signals() == Signals{SIGKILL});
  }
  SECTION("third") {
    gets(SIGINT);
    passes(1s);
    gets(SIGINT);
    CHECK(signals() == Signals{SIGINT, SIGCONT, SIGKILL});
  }
}

TEST_CASE_METHOD(AgentMachineFixture,
                 "Ctrl-C while a failed round is being stopped ends the agent") {
  starts_round(1);
  ordered(StopRound{1, "why"});
  gets(SIGINT);
  exits(kStopped);
  exits(kStopped);
  tree_is_gone();
  CHECK(told<WorkersStopped>().empty());
  ordered(JobTimes{});
  CHECK(took<Exit>().at(0).end.signal == SIGINT);
}

TEST_CASE_METHOD(AgentMachineFixture, "an agent that lost its coordinator stops its workers") {
  starts_round(1);
  loses_coordinator();
  CHECK(signals() == Signals{SIGTERM, SIGCONT});
  exits(kStopped);
  exits(kStopped);
  tree_is_gone();
  CHECK(took<Exit>().at(0).end.message == "connection closed");
}

TEST_CASE_METHOD(AgentMachineFixture,
                 "the verdict of the job outlives the loss of the coordinator") {
  starts_round(1);
  exits(kOk);
  exits(kOk);
  ordered(EndJob{EndJob::Outcome::kFinished, 0, "", {}});
  loses_coordinator();
  tree_is_gone();
  CHECK(took<Exit>().at(0).end.why == AgentEnd::Why::kJobEnded);
}

TEST_CASE_METHOD(AgentMachineFixture,
                 "a worker that even SIGKILL does not end is given up with a warning") {
  starts_round(1);
  exits(kOk);
  ordered(StopRound{1, "why"});
  passes(30s + kKillTimeout);
  CHECK_THAT(took<Warn>().back().text, contains("1 worker did not end within 10 s of SIGKILL"));
  CHECK(sweeps());
}

TEST_CASE_METHOD(AgentMachineFixture,
                 "what workers left behind has the time that they had to stop, and not more") {
  starts_round(1);
  ordered(StopRound{1, "why"});
  passes(10s);
  exits(kStopped);
  exits(kStopped);
  CHECK_FALSE(took<SweepTree>().at(0).at_once);
  passes(19s);
  CHECK(took<KillLeftovers>().empty());
  passes(1s);
  CHECK(took<KillLeftovers>().size() == 1);
  passes(60s);
  CHECK(took<KillLeftovers>().empty());
  tree_is_gone();
  CHECK(told<WorkersStopped>().size() == 1);
}

TEST_CASE_METHOD(AgentMachineFixture,
                 "what workers left behind that ended by themselves has two seconds") {
  starts_round(1);
  exits(kOk);
  exits(kOk);
  ordered(EndJob{EndJob::Outcome::kFinished, 0, "", {}});
  ordered(Dismiss{});
  CHECK(sweeps());
  passes(1s);
  CHECK(took<KillLeftovers>().empty());
  passes(1s);
  CHECK(took<KillLeftovers>().size() == 1);
}

TEST_CASE_METHOD(
    AgentMachineFixture,
    "a second signal leaves what workers left behind three seconds, a third one none") {
  starts_round(1);
  gets(SIGTERM);
  exits(kStopped);
  exits(kStopped);
  passes(1s);
  gets(SIGTERM);
  passes(2s);
  CHECK(took<KillLeftovers>().empty());
  gets(SIGTERM);
  CHECK(took<KillLeftovers>().size() == 1);
}

TEST_CASE_METHOD(AgentMachineFixture, "what killed workers left behind is killed at once") {
  starts_round(1);
  ordered(StopRound{1, "why"});
  passes(30s);
  exits({.signal = SIGKILL});
  exits({.signal = SIGKILL});
  CHECK(took<SweepTree>().at(0).at_once);
}

TEST_CASE_METHOD(AgentMachineFixture,
                 "a node that is refused ends without having started anything") {
  ordered(Refused{"options differ"});
  CHECK(took<StartWorkers>().empty());
  CHECK(took<Exit>().at(0).end.message == "options differ");
}

TEST_CASE_METHOD(AgentMachineFixture, "an announced end is reported to the coordinator, once") {
  starts_round(1);
  is_announced(SIGUSR1);
  is_announced(SIGTERM);
  const auto told_of = told<Preempt>();
  REQUIRE(told_of.size() == 1);
  CHECK(told_of[0].checkpoint_ms == 60'000);
  CHECK(signals().empty());
}

TEST_CASE_METHOD(AgentMachineFixture,
                 "an announcement that was lost with a connection is sent again") {
  starts_round(1);
  is_announced(SIGUSR1);
  CHECK(told<Preempt>().size() == 1);
  passes(20s);
  ordered(Joined{5000});
  CHECK(told<Preempt>().at(0).checkpoint_ms == 40'000);
}

TEST_CASE_METHOD(AgentMachineFixture, "after SIGTERM there is less time for a checkpoint") {
  starts_round(1);
  is_announced(SIGTERM);
  CHECK(told<Preempt>().at(0).checkpoint_ms == 20'000);
}

TEST_CASE_METHOD(AgentMachineFixture,
                 "workers that were asked for a checkpoint end by themselves") {
  starts_round(1);
  ordered(StopRound{1, "SIGUSR1", 60'000});
  CHECK(took<AskForCheckpoint>().at(0).signal == SIGUSR1);
  CHECK(signals().empty());
  exits(kOk);
  exits(kCrash);
  CHECK(sweeps());
  tree_is_gone();
  CHECK(told<WorkersStopped>().size() == 1);
  CHECK(told<WorkerFailed>().empty());
}

TEST_CASE_METHOD(AgentMachineFixture,
                 "those that write no checkpoint in time are stopped, then killed") {
  starts_round(1);
  ordered(StopRound{1, "SIGUSR1", 60'000});
  passes(59'999ms);
  CHECK(signals().empty());
  passes(1ms);
  CHECK(signals() == Signals{SIGTERM, SIGCONT});
  passes(30s);
  CHECK(signals() == Signals{SIGKILL});
}

TEST_CASE_METHOD(AgentMachineFixture,
                 "a SIGTERM after the time for a checkpoint stops the workers") {
  starts_round(1);
  is_announced(SIGUSR1);
  ordered(StopRound{1, "SIGUSR1", 60'000});
  passes(30s);
  is_announced(SIGTERM);
  CHECK(signals() == Signals{SIGTERM, SIGCONT});
}

}  // namespace
}  // namespace ddprun
