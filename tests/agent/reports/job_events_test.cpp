#include "agent/reports/job_events.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using nlohmann::json;

/// 2026-11-21 09:50:22.5 UTC.
constexpr std::int64_t kNow = 1'795'254'622'500'000;

class EventFixture {
 protected:
  EventFixture() {
    events.of(AgentAction{StartWorkers{{.round = 3, .first_rank = 2, .world_size = 4}}}, kNow);
  }
  json event(const AgentEvent& of) { return json::parse(events.of(of, kNow)); }
  json order(const CoordinatorMessage& message) { return event(Ordered{message}); }
  json action(const AgentAction& of) { return json::parse(events.of(of, kNow)); }
  JobEvents events{"h1"};
};

TEST_CASE_METHOD(EventFixture, "every event has its time, its kind and its node, in one line") {
  const std::string line = events.of(AgentEvent{Connected{}}, kNow);
  CHECK(line == "{\"time\":1795254622.5,\"kind\":\"connected\",\"node\":\"h1\"}\n");
}

TEST_CASE_METHOD(EventFixture, "the log of an agent begins with the schema and the job") {
  LaunchSpec spec;
  spec.title = "train.py";
  spec.workers = 8;
  const json begin = json::parse(events.begins(spec, {.run_id = "job7"}, 4711, kNow));
  CHECK(begin["kind"] == "agent_began");
  CHECK(begin["schema"] == "ddprun.events/1");
  CHECK(begin["job"] == "job7");
  CHECK(begin["program"] == "train.py");
  CHECK(begin["workers"] == 8);
  CHECK(begin["pid"] == 4711);
  CHECK_FALSE(begin.contains("command"));
  const json called = json::parse(events.begins(spec, {.command = "ddprun train.py"}, 4711, kNow));
  CHECK(called["command"] == "ddprun train.py");
}

TEST_CASE_METHOD(EventFixture, "a round and its workers are logged from their start to their end") {
  const json round = action(StartWorkers{
      {.round = 4, .attempt = 1, .group_world_size = 2, .first_rank = 2, .world_size = 4}});
  CHECK(round["kind"] == "round_started");
  CHECK(round["round"] == 4);
  CHECK(round["attempt"] == 1);
  CHECK(round["nodes"] == 2);
  CHECK(round["first_rank"] == 2);
  CHECK(round["world_size"] == 4);
  const std::string started = events.started({{2, 0, 77}, {3, 1, 78}}, kNow);
  const json second = json::parse(started.substr(started.find('\n') + 1));
  CHECK(second["kind"] == "worker_started");
  CHECK(second["round"] == 4);
  CHECK(second["rank"] == 3);
  CHECK(second["local_rank"] == 1);
  CHECK(second["pid"] == 78);
  WorkerExited exit{{.rank = 2, .pid = 77, .status = {.code = 3}, .evidence = "no memory"}};
  exit.end.fault = {"KeyError", "'x'", "/t.py", 12, "f"};
  const json exited = event(exit);
  CHECK(exited["exception"] == json{{"type", "KeyError"},
                                    {"message", "'x'"},
                                    {"file", "/t.py"},
                                    {"line", 12},
                                    {"function", "f"}});
  CHECK(exited["kind"] == "worker_ended");
  CHECK(exited["exit_code"] == 3);
  CHECK(exited["evidence"] == "no memory");
  CHECK_FALSE(exited.contains("signal"));
  const json killed = event(WorkerExited{{.rank = 2, .pid = 77, .status = {.signal = 9}}});
  CHECK(killed["signal"] == "SIGKILL");
  CHECK_FALSE(killed.contains("exit_code"));
  CHECK_FALSE(killed.contains("exception"));
  CHECK(event(TreeGone{})["kind"] == "round_stopped");
  CHECK(event(TreeGone{})["round"] == 4);
}

TEST_CASE_METHOD(EventFixture, "orders, signals and requests for checkpoints are logged") {
  const json stop = order(StopRound{3, "rank 1 exited with code 3", 5000});
  CHECK(stop["kind"] == "round_stopping");
  CHECK(stop["reason"] == "rank 1 exited with code 3");
  CHECK(stop["checkpoint_ms"] == 5000);
  CHECK(order(Spare{3, 2})["kind"] == "spare");
  CHECK(order(Refused{"no"})["reason"] == "no");
  CHECK(event(StopSignal{15})["signal"] == "SIGTERM");
  CHECK(event(StopSignal{15})["meaning"] == "stop");
  CHECK(event(EndAnnounced{10})["meaning"] == "end_announced");
  CHECK(event(PassOn{28})["meaning"] == "passed_on");
  CHECK(action(SignalWorkers{15})["kind"] == "signal_sent");
  CHECK(action(AskForCheckpoint{10})["kind"] == "checkpoint_asked");
  CHECK(action(Warn{"careful"})["text"] == "careful");
}

TEST_CASE_METHOD(EventFixture, "restarts, hangs and the end of the job are logged") {
  const json restart = order(Restarted{{4, 3, "why", 4, 31.5, 2, 9, -1}});
  CHECK(restart["kind"] == "restart");
  CHECK(restart["from_round"] == 3);
  CHECK(restart["stopped_ms"] == 31.5);
  CHECK_FALSE(restart.contains("first_step_ms"));
  const json times = order(JobTimes{{}, {.training_s = 97, .goodput_percent = 97}});
  CHECK(times["training_s"] == 97);
  CHECK(times["goodput_percent"] == 97);
  CHECK_FALSE(times.contains("lost_steps"));
  const json hang = order(HangFound{3, {.sentence = "rank 1 is missing", .missing_ranks = "1"}});
  CHECK(hang["kind"] == "hang");
  CHECK(hang["missing_ranks"] == "1");
  CHECK_FALSE(hang.contains("stacks"));
  const json seen = order(HangFound{3, {.stacks = {{.ranks = "1", .stack = "f\tt.py\t7"}}}});
  CHECK(seen["stacks"][0]["ranks"] == json{1});
  CHECK(seen["stacks"][0]["frames"][0]["line"] == 7);
  CHECK(order(HangOver{3, 9})["lasted_ms"] == 9);
  const json debugging = order(RanksDebugged{3, {{5, true, "t.py:12", "breakpoint()"}}});
  CHECK(debugging["kind"] == "debugging");
  CHECK(debugging["round"] == 3);
  CHECK(debugging["ranks"] ==
        json::array({{{"rank", 5}, {"waits", true}, {"at", "t.py:12"}, {"why", "breakpoint()"}}}));
  const json alone = order(RanksDebugged{3, {}});
  CHECK(alone["kind"] == "debugging_over");
  CHECK_FALSE(alone.contains("ranks"));
  const json verdict = order(VerdictFound{{.cause = {.ranks = "1", .sentence = "rank 1 failed"}}});
  CHECK(verdict["kind"] == "verdict");
  CHECK(verdict["ranks"] == "1");
  CHECK(verdict["sentence"] == "rank 1 failed");
  const json end = order(EndJob{EndJob::Outcome::kFailed, 2, "",
                                WorkerFailure{.host = "h2", .rank = 5, .status = {.signal = 11}}});
  CHECK(end["kind"] == "job_ended");
  CHECK(end["outcome"] == "failed");
  CHECK(end["restarts"] == 2);
  CHECK(end["rank"] == 5);
  CHECK(end["signal"] == "SIGSEGV");
  CHECK(action(Exit{{AgentEnd::Why::kStopSignal, {}, 15, ""}})["outcome"] == "stopped");
}

TEST_CASE_METHOD(EventFixture, "what happens all the time is worth no line") {
  CHECK(events.of(AgentEvent{Alarm{}}, kNow).empty());
  CHECK(events.of(AgentEvent{Ordered{Beat{}}}, kNow).empty());
  CHECK(events.of(AgentEvent{Ordered{Waiting{}}}, kNow).empty());
  CHECK(events.of(AgentAction{Tell{Beat{}}}, kNow).empty());
}

TEST_CASE_METHOD(EventFixture, "a text of any bytes is JSON in one line") {
  const std::string line = events.of(AgentEvent{CoordinatorLost{"\xff\n\x1b[0m"}}, kNow);
  CHECK(std::ranges::count(line, '\n') == 1);
  CHECK(json::parse(line)["reason"] == "\xef\xbf\xbd\n\x1b[0m");
}

}  // namespace
}  // namespace ddprun
