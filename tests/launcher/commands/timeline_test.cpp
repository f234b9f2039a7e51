#include "launcher/commands/timeline.hpp"

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using nlohmann::json;

/// The trace of these lines; each event's time is in seconds from the first one.
json trace_of(const std::vector<std::string>& lines) {
  Timeline timeline;
  for (const std::string& line : lines) REQUIRE(timeline.add(line));
  return json::parse(timeline.trace());
}

std::string line(double time, const std::string& kind, json fields = json::object(),
                 const std::string& node = "h1") {
  fields.update({{"time", 1.7e9 + time}, {"kind", kind}, {"node", node}});
  return fields.dump();
}

/// The events of a trace that have this name.
std::vector<json> named(const json& trace, const std::string& name) {
  std::vector<json> found;
  for (const json& event : trace["traceEvents"])
    if (event["name"] == name) found.push_back(event);
  return found;
}

json one(const json& trace, const std::string& name) {
  INFO(trace.dump(1));
  const auto found = named(trace, name);
  REQUIRE(found.size() == 1);
  return found.front();
}

TEST_CASE("a node is a process of the trace, and each of its ranks a thread with its spans") {
  const json trace =
      trace_of({line(0, "agent_began"), line(1, "round_started", {{"round", 1}}),
                line(1.5, "worker_started", {{"rank", 3}, {"pid", 77}}),
                line(4, "worker_ended", {{"rank", 3}, {"exit_code", 0}}),
                line(5, "job_ended", {{"outcome", "finished"}}), line(6, "agent_ended")});
  CHECK(one(trace, "process_name")["args"]["name"] == "h1");
  const json round = one(trace, "round 1");
  CHECK(round["ph"] == "X");
  CHECK(round["ts"] == 1e6);
  CHECK(round["dur"] == 5e6);
  const json worker = one(trace, "pid 77");
  CHECK(worker["ts"] == 1.5e6);
  CHECK(worker["dur"] == 2.5e6);
  CHECK(worker["tid"] == 4);
  CHECK(worker["args"]["exit_code"] == 0);
  CHECK(one(trace, "waiting for nodes")["dur"] == 1e6);
  CHECK(one(trace, "job ended: finished")["ph"] == "i");
  bool has_track = false;
  for (const json& name : named(trace, "thread_name"))
    has_track = has_track || (name["tid"] == 4 && name["args"]["name"] == "rank 3");
  CHECK(has_track);
}

TEST_CASE("a failure is a point on the track of its rank, and a restart is made of spans") {
  const json trace =
      trace_of({line(0, "round_started", {{"round", 1}}),
                line(0, "worker_started", {{"rank", 0}, {"pid", 7}}),
                line(2, "worker_ended", {{"rank", 0}, {"signal", "SIGSEGV"}}),
                line(2.5, "round_stopping", {{"reason", "rank 0"}}), line(3, "round_stopped"),
                line(3.5, "round_started", {{"round", 2}}), line(4, "agent_ended")});
  const json failure = one(trace, "killed by SIGSEGV");
  CHECK(failure["tid"] == 1);
  CHECK(failure["ts"] == 2e6);
  CHECK(one(trace, "round 1")["dur"] == 2.5e6);
  CHECK(one(trace, "stopping")["dur"] == 0.5e6);
  CHECK(one(trace, "waiting for the next round")["dur"] == 0.5e6);
  CHECK(one(trace, "round 2")["dur"] == 0.5e6);
}

TEST_CASE("an event is shown with its fields beside its time, its kind and its node") {
  const json trace = trace_of({line(0, "round_started", {{"round", 1}, {"world_size", 4}})});
  CHECK(one(trace, "round 1")["args"] == json{{"round", 1}, {"world_size", 4}});
}

TEST_CASE("logs of several nodes are put together by their clocks") {
  const json trace =
      trace_of({line(5, "round_started", {{"round", 1}}, "h2"), line(9, "agent_ended", {}, "h2"),
                line(4, "round_started", {{"round", 1}}, "h1"), line(8, "agent_ended", {}, "h1")});
  const auto rounds = named(trace, "round 1");
  REQUIRE(rounds.size() == 2);
  CHECK(rounds[0]["ts"] == 0);
  CHECK(rounds[0]["pid"] == 1);
  CHECK(rounds[1]["ts"] == 1e6);
  CHECK(rounds[1]["pid"] == 2);
}

TEST_CASE("what a killed agent has left open ends with its last event") {
  const json trace = trace_of({line(0, "round_started", {{"round", 1}}),
                               line(1, "worker_started", {{"rank", 0}, {"pid", 7}}),
                               line(3, "signal", {{"signal", "SIGUSR1"}})});
  CHECK(one(trace, "round 1")["dur"] == 3e6);
  CHECK(one(trace, "pid 7")["dur"] == 2e6);
  CHECK(one(trace, "signal: SIGUSR1")["ph"] == "i");
}

TEST_CASE("a worker that ended at once has run for no time") {
  const json trace =
      trace_of({line(1, "worker_ended", {{"rank", 2}, {"pid", 9}, {"exit_code", 127}})});
  CHECK(one(trace, "pid 9")["dur"] == 0);
  CHECK(one(trace, "exited with code 127")["tid"] == 3);
}

TEST_CASE("lines that are no events are passed over") {
  Timeline timeline;
  for (const char* text : {"", "{", "[]", "3", "{}", R"({"time":1})", R"({"kind":"x"})",
                           R"({"time":"1","kind":"x"})", R"({"time":1,"kind":2})"})
    CHECK_FALSE(timeline.add(text));
  CHECK(timeline.empty());
  CHECK(timeline.add(R"({"time":1,"kind":"worker_ended","rank":-1})"));
  CHECK(timeline.add(R"({"time":1,"kind":"worker_started","rank":99999999999})"));
  CHECK(timeline.add(R"({"time":2,"kind":"worker_ended","rank":"x","node":7})"));
  CHECK(json::parse(timeline.trace())["traceEvents"].is_array());
}

}  // namespace
}  // namespace ddprun
