#include "tests/rendezvous/rounds/round_fixture.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;

class StatusFixture : public RoundFixture {
 protected:
  JobStatus status() { return machine_->status(now_, 5000); }
  /// The states of all nodes, by their hosts: "a running, b lost".
  std::string nodes() {
    std::string text;
    for (const NodeStatus& node : status().nodes)
      text += (text.empty() ? "" : ", ") + node.host + " " + std::string{name_of(node.state)};
    return text;
  }
};

TEST_CASE_METHOD(StatusFixture, "a job that waits for its nodes says how many and who is there") {
  job({.nodes_min = 2, .nodes_max = 3});
  joins("a", 4);
  CHECK(status().state == JobStatus::State::kGathering);
  CHECK(status().nodes_min == 2);
  CHECK(status().round == 0);
  CHECK(nodes() == "a ready");
  CHECK(status().ranks.empty());
}

TEST_CASE_METHOD(StatusFixture, "a round that runs has its nodes in the order of their ranks") {
  job({.nodes_min = 2, .nodes_max = 2, .restarts_max = 3});
  joins("b", 2);
  joins("a", 1);
  joins("c", 1);
  const JobStatus running = status();
  CHECK(running.state == JobStatus::State::kRunning);
  CHECK(running.restarts_left == 3);
  CHECK(nodes() == "a running, b running, c spare");
  REQUIRE(running.ranks.size() == 3);
  CHECK(running.nodes[1].first_rank == running.ranks[1].rank);
  CHECK(running.ranks.back().rank == 2);
  CHECK(running.rounds.size() == 1);
  CHECK(running.rounds[0].world_size == 3);
}

TEST_CASE_METHOD(StatusFixture, "a node's load is what its last beat has told") {
  job({.nodes_min = 1, .nodes_max = 1});
  joins("a");
  CHECK_FALSE(status().nodes.front().load.has_value());
  says("a", Beat{.load = NodeLoad{.cpu_percent = 43}});
  CHECK(status().nodes.front().load == NodeLoad{.cpu_percent = 43});
  says("a", Beat{});
  CHECK_FALSE(status().nodes.front().load.has_value());
}

TEST_CASE_METHOD(StatusFixture, "a node that was lost has no load") {
  job({.nodes_min = 1, .nodes_max = 2});
  joins("a");
  joins("b");
  for (const char* node : {"a", "b"}) says(node, Beat{.load = NodeLoad{.cpu_percent = 43}});
  is_lost("b");
  for (const NodeStatus& node : status().nodes) CHECK(node.load.has_value() == (node.host == "a"));
}

TEST_CASE_METHOD(StatusFixture, "a node is silent for as long as nothing was heard of it") {
  job({.nodes_min = 1, .nodes_max = 1});
  joins("a");
  passes(2s);
  CHECK(status().nodes.front().silent_ms == 2000);
  says("a", Beat{});
  CHECK(status().nodes.front().silent_ms == 0);
}

TEST_CASE_METHOD(StatusFixture, "a job that recovers says why, and what it has cost") {
  job({.nodes_min = 2, .nodes_max = 2, .restarts_max = 1});
  joins("a");
  joins("b");
  fails("b", 1, 1);
  CHECK(status().state == JobStatus::State::kStopping);
  CHECK(status().why == "rank 1 exited with code 1");
  CHECK(nodes() == "a stopping, b stopping");
  says("a", WorkersStopped{1});
  says("b", WorkersStopped{1});
  CHECK(status().state == JobStatus::State::kRunning);
  CHECK(status().why.empty());
  CHECK(status().attempt == 1);
  CHECK(status().restarts_left == 0);
  CHECK(status().rounds.front().reason == "rank 1 exited with code 1");
}

TEST_CASE_METHOD(StatusFixture, "a killed node is lost at once, and is shown as lost afterwards") {
  job({.nodes_min = 1, .nodes_max = 2});
  joins("a");
  joins("b");
  passes(1s);
  is_lost("b");
  CHECK(nodes() == "a stopping, b lost");
  CHECK(status().ranks.back().state == RankStatus::State::kLost);
  says("a", WorkersStopped{1});
  CHECK(nodes() == "a running, b lost");
  CHECK(status().nodes.back().reason == "connection closed");
  CHECK(status().why.empty());
  CHECK(status().rounds.front().reason == "node b lost: connection closed");
  joins("b");
  CHECK(nodes() == "a stopping, b ready");
}

TEST_CASE_METHOD(StatusFixture,
                 "a job that has failed names the rank, and loses no nodes after it") {
  job(JobTerms{});
  joins("a", 2);
  fails("a", 1, 1);
  says("a", WorkersStopped{1});
  is_lost("a");
  CHECK(status().state == JobStatus::State::kEnded);
  CHECK(status().outcome == JobOutcome::kFailed);
  CHECK(status().why == "rank 1 exited with code 1");
  CHECK(nodes().empty());
  CHECK(status().rounds.back().ended_unix_ms == 5000);
}

TEST_CASE_METHOD(StatusFixture,
                 "the rank that has failed is distinguished from those that stop for it") {
  job(JobTerms{});
  joins("a", 2);
  fails("a", 1, 1);
  const auto ranks = status().ranks;
  REQUIRE(ranks.size() == 2);
  CHECK(ranks[0].state == RankStatus::State::kStopping);
  CHECK(ranks[1].state == RankStatus::State::kFailed);
}

TEST_CASE_METHOD(StatusFixture, "what ranks tell of their steps is in the status and its curves") {
  job({.nodes_min = 1, .nodes_max = 1});
  joins("a", 2);
  const auto tells = [&](std::int64_t step, std::int64_t left_s) {
    const RankProgress rank0{.rank = 0,
                             .watched = true,
                             .groups = {{"0", step + 1, step}},
                             .step = step,
                             .steps = 40,
                             .has_loss = true,
                             .loss = 0.5,
                             .samples_per_second = 8,
                             .left_s = left_s};
    says("a", Progress{1, {rank0, RankProgress{.rank = 1, .step = step - 1}}});
  };
  tells(10, -1);
  passes(1s);
  tells(20, -1);
  const JobStatus now = status();
  CHECK(now.summary.step == 19);
  CHECK(now.ranks[0].collectives == 20);
  CHECK(now.ranks[1].lag == 1);
  CHECK(now.ranks[0].samples_per_second == 8);
  CHECK(now.summary.loss == 0.5);
  CHECK(now.history.size() == 2);
  CHECK(now.summary.steps_per_second == 10);
  CHECK(now.summary.left_s == 2);
  tells(21, 600);
  CHECK(status().summary.left_s == 600);
  passes(3s);
  CHECK(status().summary.left_s == 597);
  CHECK(status().ranks[0].still_ms == 3000);
}

TEST_CASE_METHOD(StatusFixture, "no time is left when workers take longer than they have told") {
  job({.nodes_min = 1, .nodes_max = 1});
  joins("a");
  says("a", Progress{1, {{.rank = 0, .step = 10, .left_s = 2}}});
  passes(3s);
  CHECK(status().summary.left_s == 0);
  says("a", Progress{1, {{.rank = 0, .step = 11, .left_s = 0}}});
  CHECK(status().summary.left_s == 0);
}

}  // namespace
}  // namespace ddprun
