#include "rendezvous/messages/job_status.hpp"

#include <nlohmann/json.hpp>

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

TEST_CASE("a dump comes back from its JSON as it was") {
  const JobDump dump{.state = "running",
                     .why = "",
                     .round = 2,
                     .attempt = 1,
                     .world_size = 4,
                     .nodes = 2,
                     .took_ms = 31,
                     .hang = HangReport{.sentence = "rank 1 has not come", .missing_ranks = "1"},
                     .waits = {{"gloo:all_reduce", "0 (default_pg)", 13, "0,2-3", "1"}},
                     .stacks = {{.ranks = "1", .doing = "sleeps", .stack = "f\tx.py\t3\n"}},
                     .stacks_left_out = 0,
                     .unheard = {{"h2", "3", "has not answered in time"}}};
  CHECK(parse_job_dump(to_json(dump)).value() == dump);
}

TEST_CASE("of too many stacks the last ones are left out, and counted") {
  JobDump dump{.state = "running"};
  const std::size_t many = kDumpBytesMax / 5000;
  for (std::size_t i = 0; i < many; ++i)
    dump.stacks.push_back({.ranks = std::to_string(i), .stack = std::string(2900, '\x01')});
  const std::string text = to_json(dump);
  CHECK(text.size() <= kDumpBytesMax);
  const JobDump back = parse_job_dump(text).value();
  CHECK(back.stacks.size() + static_cast<std::size_t>(back.stacks_left_out) == many);
  REQUIRE_FALSE(back.stacks.empty());
  CHECK(back.stacks[0].ranks == "0");
}

TEST_CASE("what is no dump is an error with a sentence") {
  CHECK_THAT(parse_job_dump("{").error().message, contains("malformed dump"));
  CHECK_THAT(parse_job_dump(R"({"round":1})").error().message, contains("'state' is missing"));
  CHECK_THAT(parse_job_dump(std::string(kDumpBytesMax + 1, ' ')).error().message,
             contains("too long"));
}

RankStatus at_step(int rank, std::int64_t step, std::int64_t steps = 100) {
  return {.rank = rank, .step = step, .steps = steps};
}

TEST_CASE("a status is read as it was written") {
  JobStatus status{.run_id = "job",
                   .title = "train.py",
                   .state = JobStatus::State::kStopping,
                   .outcome = JobOutcome::kTooFewNodes,
                   .why = "node h2 lost",
                   .round = 3,
                   .restarts_left = 2,
                   .summary = {.step = 7, .has_loss = true, .loss = 0.25},
                   .nodes = {{.host = "h2",
                              .state = NodeStatus::State::kLost,
                              .group_rank = 1,
                              .first_rank = 4,
                              .workers = 4,
                              .reason = "closed",
                              .load = NodeLoad{.cpus = 64, .memory_used_bytes = 7}}},
                   .ranks = {at_step(0, 7)},
                   .rounds = {{.round = 3, .nodes = 2, .reason = "x", .in_place = true}},
                   .history = {{.unix_ms = 5, .step = 7}},
                   .hang = HangReport{.missing_ranks = "1", .silent_ms = 4}};
  status.ranks[0].late_percent = 12.5;
  status.summary.debugged = {{3, true, "train.py:31", "breakpoint()"}};
  status.summary.straggler = Straggler{.ranks = "0", .node = "h2", .cost_percent = 12.5};
  status.verdict = Verdict{.cause = {.ranks = "1", .sentence = "rank 1 failed"}};
  const auto read = parse_job_status(to_json(status));
  REQUIRE(read.has_value());
  CHECK(*read == status);
}

TEST_CASE("what a later release has added to a status is passed over") {
  std::string text = to_json(JobStatus{.run_id = "a", .ranks = {at_step(0, 7)}});
  text.insert(text.find('{') + 1, R"("novelty":[1],)");
  const auto read = parse_job_status(text);
  REQUIRE(read.has_value());
  CHECK(read->run_id == "a");
  CHECK(read->ranks.at(0).step == 7);
}

TEST_CASE("where the load of a node is not known, as of an earlier release, it is left out") {
  const std::string text = to_json(JobStatus{.run_id = "a", .nodes = {{.host = "h1"}}});
  CHECK(text.find("load") == std::string::npos);
  const auto read = parse_job_status(text);
  REQUIRE(read.has_value());
  CHECK_FALSE(read->nodes.at(0).load.has_value());
}

TEST_CASE("a status of an earlier release, in which no rank can be debugged, is read") {
  std::string text = to_json(JobStatus{.run_id = "a"});
  const std::string field = "\"debugged\":[],";
  REQUIRE(text.find(field) != std::string::npos);
  text.erase(text.find(field), field.size());
  REQUIRE(parse_job_status(text).has_value());
  CHECK(parse_job_status(text)->summary.debugged.empty());
}

TEST_CASE("what is no status is an error with a sentence") {
  for (const char* text :
       {"", "[]", "{\"round\":\"x\"}", "{\"state\":\"dancing\"}", "{\"ranks\":7}"}) {
    const auto read = parse_job_status(text);
    REQUIRE(read.has_error());
    CHECK_THAT(read.error().message, contains("malformed status"));
  }
}

TEST_CASE("the job is as far as its slowest rank, and each rank knows its lag") {
  JobStatus status{.ranks = {at_step(0, 30), at_step(1, 24), at_step(2, 30)}};
  summarize(status);
  CHECK(status.summary.step == 24);
  CHECK(status.summary.steps == 100);
  CHECK(status.summary.percent == 24);
  CHECK(status.ranks[0].lag == 0);
  CHECK(status.ranks[1].lag == 6);
}

TEST_CASE("where no rank tells steps the collectives tell the lag") {
  JobStatus status{.ranks = {{.rank = 0, .collectives = 9}, {.rank = 1, .collectives = 4}}};
  summarize(status);
  CHECK(status.summary.step == -1);
  CHECK(status.summary.percent == -1);
  CHECK(status.ranks[1].lag == 5);
}

TEST_CASE("loss is the mean of ranks that report it, and samples per second add up") {
  JobStatus status{.ranks = {{.rank = 0, .has_loss = true, .loss = 1, .samples_per_second = 10},
                             {.rank = 1, .has_loss = true, .loss = 2, .samples_per_second = 5},
                             {.rank = 2}}};
  summarize(status);
  CHECK(status.summary.loss == 1.5);
  CHECK(status.summary.samples_per_second == 15);
}

TEST_CASE("the time that is left follows from the last half minute, unless a rank has told it") {
  JobStatus status{.ranks = {at_step(0, 60)},
                   .history = {{.unix_ms = 0, .step = 0},
                               {.unix_ms = 60'000, .step = 30},
                               {.unix_ms = 90'000, .step = 60}}};
  summarize(status);
  CHECK(status.summary.steps_per_second == 1);
  CHECK(status.summary.left_s == 40);
  status.summary.left_s = 7;
  summarize(status);
  CHECK(status.summary.left_s == 7);
}

TEST_CASE("one word says how the job is, and programs read it, too") {
  JobStatus status{.state = JobStatus::State::kRunning};
  CHECK(word_for(status) == "running");
  status.hang = HangReport{.sentence = "why"};
  summarize(status);
  CHECK_THAT(to_json(status), contains("\"state_word\":\"hangs\""));
  status.state = JobStatus::State::kEnded;
  status.outcome = JobOutcome::kTooFewNodes;
  CHECK(word_for(status) == "too_few_nodes");
}

TEST_CASE("of too many ranks those stay that stand out") {
  JobStatus status;
  for (int rank = 0; rank < 5000; ++rank) status.ranks.push_back(at_step(rank, 50));
  status.ranks[4321].step = 3;
  status.ranks[4999].state = RankStatus::State::kFailed;
  status.ranks[4998].late_percent = 12;
  summarize(status);
  CHECK(status.ranks.size() == kStatusRanksMax);
  CHECK(status.summary.ranks_left_out == 5000 - static_cast<int>(kStatusRanksMax));
  CHECK(status.ranks[0].rank == 4999);
  CHECK(status.ranks[1].rank == 4998);
  CHECK(status.ranks[2].rank == 4321);
}

TEST_CASE("no status is longer than its limit, and all of it is ASCII") {
  JobStatus status;
  for (int i = 0; i < 5000; ++i) {
    status.nodes.push_back({.host = std::string(400, '\x01')});
    status.ranks.push_back({.rank = i, .waits_in = "\xc3\xa4"});
  }
  const std::string text = to_json(status);
  CHECK(text.size() <= kStatusBytesMax);
  CHECK(std::ranges::none_of(text, [](char c) { return static_cast<unsigned char>(c) > 126; }));
  CHECK(parse_job_status(text).has_value());
}

}  // namespace
}  // namespace ddprun
