#include "launcher/live/job_texts.hpp"

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

JobStatus training() {
  JobStatus status{.run_id = "r1",
                   .title = "train.py",
                   .state = JobStatus::State::kRunning,
                   .round = 2,
                   .attempt = 1,
                   .restarts_left = 2,
                   .nodes_max = 2,
                   .now_unix_ms = 600'000,
                   .began_unix_ms = 0,
                   .summary = {.step = 270,
                               .steps = 1000,
                               .percent = 27,
                               .left_s = 3700,
                               .has_loss = true,
                               .loss = 0.3141592}};
  status.nodes = {
      {.host = "h1", .state = NodeStatus::State::kRunning, .first_rank = 0, .workers = 2},
      {.host = "h2", .state = NodeStatus::State::kLost, .reason = "closed"}};
  status.ranks = {{.rank = 0, .step = 280}, {.rank = 1, .step = 270, .lag = 10}};
  status.rounds = {{.round = 1, .began_unix_ms = 1, .ended_unix_ms = 2, .reason = "node h2 lost"},
                   {.round = 2, .began_unix_ms = 3}};
  return status;
}

std::size_t place(const std::string& text, const std::string& part) {
  INFO(text);
  CHECK_THAT(text, contains(part));
  return text.find(part);
}

TEST_CASE("a status says how far the job is, and shows the slowest ranks first") {
  const std::string text = status_text(training(), {});
  place(text, "job r1: running, round 2, attempt 1, 2 restarts left\n");
  place(text, "train.py");
  place(text, "27 %, step 270/1000, loss 0.3142, 61 min left");
  place(text, "h2    lost");
  place(text, "closed");
  CHECK(place(text, "270   10") < place(text, "280    0"));
  place(text, "node h2 lost");
  CHECK(text.find('\x1b') == std::string::npos);
}

TEST_CASE("a job that waits before it restarts says for how long") {
  JobStatus status = training();
  status.state = JobStatus::State::kGathering;
  place(status_text(status, {}), "gathering, waits for nodes: 2 there, 1 needed");
  status.summary.restarts_in_ms = 3'500;
  place(status_text(status, {}), "gathering, restarts in 4 s (--restart-delay), round 2");
}

TEST_CASE("of a round whose workers have stayed for the next one the status says so") {
  JobStatus status = training();
  CHECK(status_text(status, {}).find("in place") == std::string::npos);
  status.rounds[0].in_place = true;
  place(status_text(status, {}), "node h2 lost; in place");
}

TEST_CASE("a job that hangs says so first, with what each rank does") {
  JobStatus status = training();
  status.hang = HangReport{
      .sentence = "rank 1 has not reached gloo:all_reduce",
      .stacks = {{.ranks = "1", .doing = "sleeps", .stack = "load\tx.py\t12\nmain\tx.py\t3"}}};
  const std::string text = status_text(status, {});
  CHECK(place(text, "it hangs: rank 1 has not reached") < place(text, "NODE"));
  place(text, "job r1: hangs, round 2");
  place(jobs_table({{"r1", {.pid = 7}, status}}, 0, {}), "hangs");
  place(text, "  rank 1: sleeps\n    load  x.py:12\n");
  status.hang->stacks[0].stack = "wait\t/v/site-packages/torch/distributed/d.py\t7\nmain\tx.py\t3";
  place(status_text(status, {}), "  rank 1: sleeps\n    main  x.py:3\n");
  CHECK(text.find('\t') == std::string::npos);
}

TEST_CASE("a status names the rank for which the others wait, and shows it first") {
  JobStatus status = training();
  status.ranks.push_back({.rank = 12, .step = 280, .late_percent = 12.4});
  status.summary.straggler =
      Straggler{.ranks = "12", .sentence = "rank 12 (h1) makes the others wait"};
  const std::string text = status_text(status, {});
  CHECK(place(text, "slow: rank 12 (h1) makes the others wait\n") < place(text, "NODE"));
  CHECK(place(text, "12 %") < place(text, "270   10"));
}

TEST_CASE("a status tells the checkpoints that nodes keep, without orders to the terminal") {
  JobStatus status = training();
  status.nodes[0].checkpoints.emplace();
  place(status_text(status, {}), ": none is complete yet\n");
  status.nodes[0].checkpoints = KeptCheckpoints{"c-\x1b[5m", 3 << 20, 65'000, "c-4"};
  place(status_text(status, {}), "c-\\x1b[5m (3 MiB) in memory for 65 s, on disk c-4\n");
}

TEST_CASE("a status says which ranks are debugged, or wait for that") {
  JobStatus status = training();
  status.summary.debugged = {{0, true, "train.py:31", "breakpoint()"}, {.rank = 1}};
  const std::string text = status_text(status, {});
  const auto waiting = place(
      text, "\n\n  rank 0 waits at train.py:31 for a debugger (breakpoint()): ddprun debug 0\n");
  CHECK(waiting < place(text, "\n  rank 1 is being debugged"));
  CHECK(waiting < place(text, "NODE"));
}

TEST_CASE("a job that is over says how it ended") {
  JobStatus status = training();
  status.state = JobStatus::State::kEnded;
  status.outcome = JobOutcome::kTooFewNodes;
  status.why = "1 of 2 nodes came";
  place(status_text(status, {}), "job r1: too_few_nodes (1 of 2 nodes came), round 2");
}

TEST_CASE("what peers have said cannot order the terminal about") {
  JobStatus status = training();
  status.why = "\x1b[2Jgone";
  status.nodes[0].host = "h\x1b]0;x";
  status.ranks[0].waits_in = "\x1b[2Jall_reduce";
  CHECK(status_text(status, {}).find('\x1b') == std::string::npos);
}

TEST_CASE("lines fit the terminal, and colours take no room") {
  const std::string text = status_text(training(), {.color = true, .columns = 20, .lines = 4});
  CHECK(std::ranges::count(text, '\n') == 4);
  CHECK_THAT(text, contains("\x1b[32mrunning\x1b[0m"));
  CHECK_THAT(text, contains("job r1: \x1b[32mrunning\x1b[0m, ro…\x1b[0m\n"));
}

TEST_CASE("the list has a line for each job, also for one that does not answer") {
  const std::vector<JobLine> jobs{{"r1", {.title = "train.py", .pid = 7}, training()},
                                  {std::string(60, 'x'), {.pid = 8}, std::nullopt}};
  const std::string text = jobs_table(jobs, 61'000, {});
  CHECK(std::ranges::count(text, '\n') == 3);
  place(text, "270/1000");
  place(text, "no answer");
  place(text, std::string(23, 'x') + "…");
}

TEST_CASE("a job is as old as the time since it was started") {
  const JobLine job{"r1", {.pid = 7, .started_unix_ms = 1'000}, training()};
  place(jobs_table({job}, 61'000, {}), " 60 s ");
  place(jobs_table({job}, 0, {}), " 0 s ");
}

TEST_CASE("durations and amounts are short") {
  CHECK(duration_text(14) == "14 s");
  CHECK(duration_text(600) == "10 min");
  CHECK(duration_text(3 * 3600 + 61) == "3 h 1 min");
  CHECK(duration_text(500'000) == "5 d");
  CHECK(amount_text(0.31) == "0.31");
  CHECK(amount_text(1234.4) == "1,234");
  CHECK(amount_text(12'345'678) == "12,345,678");
  CHECK(amount_text(-1234) == "-1,234");
  CHECK(amount_text(0.0000431) == "4.31e-05");
}

}  // namespace
}  // namespace ddprun
