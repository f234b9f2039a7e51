// Every pair of a state of AgentMachine and an event, with what the agent does then. The table is
// in pairs.txt: `agent_tests "[record]"` writes it. Review the difference afterwards.
#include <csignal>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/match.hpp"
#include "tests/agent/decisions/agent_fixture.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;

const WorkerExited kWorkerFails{WorkerFailure{.rank = 1, .status = {.code = 3}}};
const Joined kAdmits{.heartbeat_timeout_ms = 5'000, .clock_us = 1, .epoch = 1};
const StartRound kStarts{.round = 4,
                         .group_world_size = 3,
                         .epoch = 1,
                         .lease_ms = 4'000,
                         .successors = {{"h1:1", 1}},
                         .leader_rank = 0};

const Prepare kPrepares{{.round = 4}, {.round = 5}};
const StopRound kLeaves{.round = 4, .reason = "why", .keep = true};
const StopRound kHolds{.round = 4, .reason = "why", .keep = true, .gently = true};

/// An agent with two workers, at the endpoint h0:1.
class PairFixture : public MachineFixture {
 public:
  explicit PairFixture(std::vector<std::string> places = {}, bool checks_itself = false)
      : MachineFixture{{.workers = 2,
                        .terms = {.join_timeout = 60s},
                        .rejoin = true,
                        .endpoint = "h0:1",
                        .places = std::move(places),
                        .checks_itself = checks_itself}} {
    now_ += 1h;
  }
  using MachineFixture::step;

  void joins() {
    step(AgentBegins{});
    step(Connected{now_});
    step(Ordered{kAdmits});
  }
  void runs() {
    joins();
    step(Ordered{kStarts});
  }
  void loses_coordinator() {
    step(CoordinatorLost{"closed"});
    step(CoordinatorUnreachable{"no process listens", true});
  }
  void can_stay() {
    for (const int local_rank : {0, 1}) step(WorkerSaid{local_rank, CanStay{4}});
  }
  void both_exit() {
    step(kWorkerFails);
    step(kWorkerFails);
  }
  /// What it does when that happens, in words.
  std::string when(const AgentEvent& event) {
    actions_.clear();
    step(event);
    std::string words;
    for (const AgentAction& action : actions_) words += (words.empty() ? "" : ", ") + word(action);
    return words;
  }

 private:
  static std::string place(const std::string& at) { return at.empty() ? "endpoint" : at; }
  static std::string word(const AgentAction& action) {
    return match(
        action, [](const ReachCoordinator& a) { return "reach " + place(a.at); },
        [](const StartWorkers& a) {
          return std::string{a.parked ? "start parked workers" : "start workers"};
        },
        [](const SignalWorkers& a) { return signal_name(a.signal); },
        [](const AskForCheckpoint&) { return std::string{"ask for checkpoint"}; },
        [](const SweepTree& a) {
          return (a.in_place ? "sweep what has ended" : "sweep") +
                 std::string{a.at_once ? " at once" : ""};
        },
        [](const KillLeftovers&) { return std::string{"kill what is left"}; },
        [](const AskToHold&) { return std::string{"ask to hold"}; },
        [](const AskToLeaveAfter&) { return std::string{"ask to leave after a step"}; },
        [](const AskToLeave&) { return std::string{"ask to leave"}; },
        [](const KillWorkers&) { return std::string{"kill some"}; },
        [](const InspectWorkers&) { return std::string{"inspect"}; },
        [](const ExtendTimeouts& a) {
          return std::string{a.extended ? "extend timeouts" : "restore timeouts"};
        },
        [](const CheckSelf&) { return std::string{"look at the node"}; },
        [](const Tell& a) { return "tell " + word(a.message); },
        [](const Disconnect&) { return std::string{"disconnect"}; },
        [](const TellStandby& a) { return "tell standby '" + a.leader.coordinator + "'"; },
        [](const Warn&) { return std::string{"warn"}; },
        [](const Exit& a) { return "exit: " + word(a.end.why); });
  }
  static std::string word(AgentEnd::Why why) {
    switch (why) {
      case AgentEnd::Why::kJobEnded:
        return "the job has ended";
      case AgentEnd::Why::kStopSignal:
        return "it was asked to stop";
      case AgentEnd::Why::kRefused:
        return "it was refused";
      case AgentEnd::Why::kCoordinatorLost:
        return "the coordinator is lost";
      case AgentEnd::Why::kNoCoordinator:
        return "there is no coordinator";
    }
    return "";
  }
  static std::string word(const AgentMessage& message) {
    const std::string line = encode(message);
    const std::string key = "\"type\":\"";
    const auto begin = line.rfind(key) + key.size();  // the message's own type comes last
    return line.substr(begin, line.find('"', begin) - begin);
  }
};

struct Situation {
  std::string name;
  std::function<void(PairFixture&)> enter;
  bool several_places = false;
  bool checks_itself = false;
};

const std::vector<Situation> kSituations{
    {"asks at the endpoint", [](PairFixture& f) { f.step(AgentBegins{}); }},
    {"is connected there",
     [](PairFixture& f) {
       f.step(AgentBegins{});
       f.step(Connected{});
     }},
    {"waits for votes of a candidate",
     [](PairFixture& f) {
       f.step(AgentBegins{});
       f.step(Connected{});
       f.step(Ordered{Candidate{1}});
     }},
    {"looks around", [](PairFixture& f) { f.step(AgentBegins{}); }, true},
    {"waits for a round", [](PairFixture& f) { f.joins(); }},
    {"runs", [](PairFixture& f) { f.runs(); }},
    {"runs with one worker that failed",
     [](PairFixture& f) {
       f.runs();
       f.step(kWorkerFails);
     }},
    {"asks for a checkpoint",
     [](PairFixture& f) {
       f.runs();
       f.step(Ordered{StopRound{.round = 4, .checkpoint_ms = 1'000}});
     }},
    {"stops",
     [](PairFixture& f) {
       f.runs();
       f.step(Ordered{StopRound{4, "why"}});
     }},
    {"kills",
     [](PairFixture& f) {
       f.runs();
       f.step(Ordered{StopRound{.round = 4, .at_once = true}});
     }},
    {"sweeps",
     [](PairFixture& f) {
       f.runs();
       f.step(Ordered{StopRound{4, "why"}});
       f.both_exit();
     }},
    {"comes back while workers run",
     [](PairFixture& f) {
       f.runs();
       f.step(CoordinatorLost{"closed"});
     }},
    {"stops before it looks for a successor",
     [](PairFixture& f) {
       f.runs();
       f.loses_coordinator();
     }},
    {"looks for a successor",
     [](PairFixture& f) {
       f.runs();
       f.loses_coordinator();
       f.both_exit();
       f.step(TreeGone{});
     }},
    {"is at a successor",
     [](PairFixture& f) {
       f.runs();
       f.loses_coordinator();
       f.both_exit();
       f.step(TreeGone{});
       f.step(Connected{});
     }},
    {"asks workers to leave",
     [](PairFixture& f) {
       f.runs();
       f.can_stay();
       f.step(Ordered{kLeaves});
     }},
    {"asks workers to hold",
     [](PairFixture& f) {
       f.runs();
       f.can_stay();
       f.step(Ordered{kHolds});
     }},
    {"has workers that hold",
     [](PairFixture& f) {
       f.runs();
       f.can_stay();
       f.step(Ordered{kHolds});
       for (const int local_rank : {0, 1}) f.step(WorkerSaid{local_rank, Holding{4, 7}});
     }},
    {"has parked workers",
     [](PairFixture& f) {
       f.runs();
       f.can_stay();
       f.step(Ordered{kLeaves});
       for (const int local_rank : {0, 1}) f.step(WorkerSaid{local_rank, Parked{4}});
       f.step(TreeGone{});
     }},
    {"has workers that may stay where the coordinator is lost",
     [](PairFixture& f) {
       f.runs();
       f.can_stay();
       f.step(Ordered{Beat{.keep = true}});
     }},
    {"starts workers beside a round",
     [](PairFixture& f) {
       f.joins();
       f.step(Ordered{kPrepares});
       f.step(WorkerSaid{0, Parked{kNoRound}});
     }},
    {"waits until all know of the end",
     [](PairFixture& f) {
       f.runs();
       f.step(WorkerExited{});
       f.step(WorkerExited{});
       f.step(Ordered{EndJob{.held = true}});
       f.step(TreeGone{});
     }},
    {"looks at its node before it joins", [](PairFixture& f) { f.step(AgentBegins{}); }, false,
     true},
    {"ends by a signal",
     [](PairFixture& f) {
       f.runs();
       f.step(StopSignal{SIGTERM});
     }},
    {"has exited",
     [](PairFixture& f) {
       f.joins();
       f.step(StopSignal{SIGTERM});
     }},
};

const std::vector<std::pair<std::string, AgentEvent>> kEvents{
    {"connected", Connected{}},
    {"unreachable", CoordinatorUnreachable{"no answer"}},
    {"refused", CoordinatorUnreachable{"no process listens", true}},
    {"coordinator lost", CoordinatorLost{"closed"}},
    {"joined", Ordered{kAdmits}},
    {"joined, of a lower epoch", Ordered{Joined{.heartbeat_timeout_ms = 5'000}}},
    {"refused by it", Ordered{Refused{"no place", false}}},
    {"refused by another job's", Ordered{Refused{"other job", true}}},
    {"candidate", Ordered{Candidate{1}}},
    {"request_vote", Ordered{RequestVote{7, 1}}},
    {"request_vote, of a lower epoch", Ordered{RequestVote{0, 1}}},
    {"redirect", Ordered{Redirect{"h9:1", 7}}},
    {"redirect to nobody", Ordered{Redirect{"", 7}}},
    {"beat", Ordered{Beat{.clock_us = 1}}},
    {"waiting", Ordered{Waiting{}}},
    {"spare", Ordered{Spare{.round = 4}}},
    {"prepare", Ordered{kPrepares}},
    {"reconfigure", Ordered{Reconfigure{}}},
    {"start_round", Ordered{kStarts}},
    {"inspect", Ordered{Inspect{.round = 4}}},
    {"ranks_debugged", Ordered{RanksDebugged{4, {{.rank = 5}}}}},
    {"stop_round", Ordered{StopRound{4, "why"}}},
    {"stop_round that keeps workers", Ordered{kLeaves}},
    {"stop_round that holds workers", Ordered{kHolds}},
    {"leave_after", Ordered{LeaveAfter{4, 8}}},
    {"stop_round, of another one", Ordered{StopRound{3, "why"}}},
    {"stop_round with a checkpoint", Ordered{StopRound{.round = 4, .checkpoint_ms = 1'000}}},
    {"stop_round at once", Ordered{StopRound{.round = 4, .at_once = true}}},
    {"end_job", Ordered{EndJob{}}},
    {"end_job, held", Ordered{EndJob{.held = true}}},
    {"dismiss", Ordered{Dismiss{}}},
    {"a worker fails", kWorkerFails},
    {"a worker ends well", WorkerExited{}},
    {"a worker can stay", WorkerSaid{1, CanStay{4}}},
    {"a worker holds", WorkerSaid{1, Holding{4, 7}}},
    {"a worker cannot hold", WorkerSaid{1, Holding{4, -1}}},
    {"a worker is parked", WorkerSaid{1, Parked{4}}},
    {"a worker is parked beside a round", WorkerSaid{1, Parked{kNoRound}}},
    {"a worker is stuck", WorkerSaid{1, Stuck{4}}},
    {"a worker cannot stay", WorkerSaid{1, CannotStay{}}},
    {"nothing is left of the workers", TreeGone{}},
    {"the workers run", WorkersRun{}},
    {"a worker progresses", WorkerProgressed{RankProgress{.rank = 1, .step = 2}}},
    {"a worker arrives", WorkerArrived{{.rank = 1}}},
    {"a worker is debugged", DebuggersChanged{{{.rank = 1}}}},
    {"the workers are inspected", WorkersInspected{1, {}}},
    {"the node is fit", Checked{1, ""}},
    {"the node is not fit", Checked{1, "is sick"}},
    {"stop signal", StopSignal{SIGINT}},
    {"the scheduler announces the end", EndAnnounced{SIGUSR1}},
    {"a signal for the workers", PassOn{SIGHUP}},
    {"alarm before anything is due", Alarm{}},
};

std::string table() {
  std::string text;
  for (const Situation& situation : kSituations) {
    text += situation.name + "\n";
    std::string nothing;
    for (const auto& [name, event] : kEvents) {
      PairFixture fixture{situation.several_places ? std::vector<std::string>{"h0:1", "h1:1"}
                                                   : std::vector<std::string>{},
                          situation.checks_itself};
      situation.enter(fixture);
      const std::string words = fixture.when(event);
      if (words.empty())
        nothing += (nothing.empty() ? "" : "; ") + name;
      else
        text += "  " + name + ": " + words + "\n";
    }
    text += "  nothing: " + nothing + "\n\n";
  }
  return text;
}

TEST_CASE("in every state the agent does what the table says, whatever happens") {
  std::ifstream file{DDPRUN_AGENT_PAIRS};
  std::stringstream expected;
  expected << file.rdbuf();
  std::stringstream found{table()};
  std::string line;
  std::string wanted;
  std::string situation;
  while (std::getline(found, line)) {
    if (!line.empty() && line.front() != ' ') situation = line;
    INFO("the agent " << situation);
    REQUIRE(std::getline(expected, wanted));
    CHECK(line == wanted);
  }
  CHECK_FALSE(std::getline(expected, wanted));
}

TEST_CASE("the table of pairs is written again", "[.][record]") {
  std::ofstream file{DDPRUN_AGENT_PAIRS};
  file << table() << std::flush;
  CHECK(file.good());
}

}  // namespace
}  // namespace ddprun
