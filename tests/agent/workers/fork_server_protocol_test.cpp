#include "agent/workers/fork_server_protocol.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using nlohmann::json;

LaunchSpec warm_job() {
  LaunchSpec spec;
  spec.program = "/usr/bin/python3";
  spec.arguments = {"/usr/bin/python3", "-u", "train.py", "Z\xFF"};
  spec.workers = 2;
  spec.warm = WarmStart{{"torch"}};
  return spec;
}

NodeFacts node() {
  return {
      .machine = {.environment = {"HOME=/root", "RANK=7", "OMP_NUM_THREADS=3"}, .usable_cpus = 8},
      .mark = "mark"};
}

json config_of(const Command& fork_server) { return json::parse(fork_server.arguments.at(4)); }

TEST_CASE("the fork server has what all workers have in common, and no worker's place") {
  const Command fork_server = plan_fork_server(warm_job(), node());
  CHECK(fork_server.program == "/usr/bin/python3");
  CHECK(std::vector(fork_server.arguments.begin(), fork_server.arguments.begin() + 3) ==
        std::vector<std::string>{"/usr/bin/python3", "-u", "-c"});
  const auto has = [&](const char* entry) {
    return std::ranges::count(fork_server.environment, entry) == 1;
  };
  CHECK(has("HOME=/root"));
  CHECK(has("OMP_NUM_THREADS=3"));
  CHECK(has("DDPRUN_JOB=mark"));  // the guardian finds it by that, and those it forks
  CHECK(std::ranges::none_of(fork_server.environment,
                             [](const std::string& entry) { return entry.starts_with("RANK="); }));
}

TEST_CASE(
    "the fork server gets the workers' command, what to import and which modules to leave out") {
  const json config = config_of(plan_fork_server(warm_job(), node()));
  CHECK(config["arguments"] == json{"/usr/bin/python3", "-u", "train.py", "Z\u00FF"});
  CHECK(config["modules"] == json{"torch"});
  const auto per_worker = config["per_worker"].get<std::vector<std::string>>();
  for (const char* name : {"RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_PORT"})
    CHECK(std::ranges::count(per_worker, name) == 1);
  CHECK(std::ranges::count(per_worker, "OMP_NUM_THREADS") == 0);
}

TEST_CASE("the fork server is bound to CPUs only where all workers are bound to the same") {
  NodeFacts bound = node();
  bound.machine.placements = {{{0, 1}, {0}}, {{0, 1}, {0}}};
  CHECK(plan_fork_server(warm_job(), bound).placement == bound.machine.placements.front());
  bound.machine.placements[1].cpus = {2, 3};
  CHECK(plan_fork_server(warm_job(), bound).placement == Placement{});
}

TEST_CASE("an order says what a worker has and the fork server has not") {
  const Command fork_server = plan_fork_server(warm_job(), node());
  NodeFacts bound = node();
  bound.machine.placements = {{{0}, {0}}, {{1}, {0}}};
  const auto workers = plan_workers(warm_job(), {.round = 1, .first_rank = 4}, bound);
  const json order = json::parse(encode_order(workers[1], {7, 1, true}, fork_server));
  CHECK(order["start"] == 7);
  CHECK(order["worker"] == 1);
  CHECK(order["last"] == true);
  CHECK(order["environment"]["RANK"] == "5");
  CHECK_FALSE(order["environment"].contains("HOME"));
  CHECK(order["arguments"][3] == "Z\u00FF");
  CHECK(order["cpus"] == json{1});
}

TEST_CASE("what the fork server says is understood, or called nonsense") {
  const auto forked =
      decode_fork_server_event(R"({"event": "forked", "start": 7, "worker": 3, "pid": 42})");
  REQUIRE(forked.has_value());
  CHECK(std::get<Forked>(*forked).start == 7);
  CHECK(std::get<Forked>(*forked).worker == 3);
  CHECK(std::get<Forked>(*forked).pid == 42);
  const auto left_out =
      decode_fork_server_event(R"({"event": "left out", "module": "a", "why": "b"})");
  REQUIRE(left_out.has_value());
  CHECK(std::get<LeftOut>(*left_out).why == "b");
  CHECK(std::get<Delivered>(*decode_fork_server_event(R"({"event": "delivered", "start": 7})"))
            .start == 7);
  for (const char* nonsense :
       {"", "x", "[]", R"({"event": 1})", R"({"event": "born"})", R"({"event": "forked"})",
        R"({"event": "delivered"})", R"({"event": "forked", "worker": 1, "pid": 1})",
        R"({"event": "forked", "start": 1, "worker": "one", "pid": 1})"})
    CHECK(decode_fork_server_event(nonsense).has_error());
}

using Pids = std::vector<pid_t>;

TEST_CASE("one start has the turn at a time") {
  ForkServerTurns turns;
  CHECK(turns.take());
  CHECK_FALSE(turns.take());
  turns.give_back();
  CHECK(turns.take());
}

TEST_CASE("a start takes what was forked for it and delivered") {
  ForkServerTurns turns;
  const std::size_t start = turns.begin(2);
  CHECK(turns.forked() == Pids{-1, -1});
  turns.hear(Forked{start, 1, 42});
  turns.hear(Forked{start, 0, 41});
  CHECK(turns.fate(false) == ForkedFate::kStartedAnew);
  turns.hear(Delivered{start});
  CHECK(turns.forked() == Pids{41, 42});
  CHECK(turns.fate(false) == ForkedFate::kTaken);
}

TEST_CASE("an answer to another start is not for this one, however late or often it comes") {
  ForkServerTurns turns;
  const std::size_t before = turns.begin(1);
  turns.hear(Forked{before, 0, 40});
  const std::size_t start = turns.begin(1);
  turns.hear(Forked{before, 0, 40});
  turns.hear(Delivered{before});
  CHECK(turns.forked() == Pids{-1});
  CHECK_FALSE(turns.is_delivered());
  turns.hear(Forked{start, 0, 41});
  turns.hear(Delivered{start});
  turns.hear(Delivered{before});
  turns.hear(Forked{before, 0, 40});
  CHECK(turns.forked() == Pids{41});
  CHECK(turns.fate(false) == ForkedFate::kTaken);
}

TEST_CASE("an answer about a worker that was not ordered is not heard") {
  ForkServerTurns turns;
  const std::size_t start = turns.begin(1);
  turns.hear(Forked{start, 1, 41});
  CHECK(turns.forked() == Pids{-1});
}

TEST_CASE("what nobody wants any more is killed, delivered or not") {
  ForkServerTurns turns;
  const std::size_t start = turns.begin(1);
  CHECK(turns.fate(true) == ForkedFate::kKilled);
  turns.hear(Forked{start, 0, 41});
  turns.hear(Delivered{start});
  CHECK(turns.fate(true) == ForkedFate::kKilled);
}

TEST_CASE("a start of no workers is over at once") {
  ForkServerTurns turns;
  turns.begin(0);
  CHECK(turns.fate(false) == ForkedFate::kTaken);
}

}  // namespace
}  // namespace ddprun
