// CoordinatorMachine when a coordinator is lost: who may follow it, and when it may begin.
#include "tests/rendezvous/rounds/succession_fixture.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;

TEST_CASE_METHOD(SuccessionFixture, "half of the nodes are no majority, and nobody is asked") {
  stands_by();
  says("a", voter("a"));
  CHECK(order<Candidate>("a").has_value());
  CHECK_FALSE(order<RequestVote>("a").has_value());
}

TEST_CASE_METHOD(SuccessionFixture, "two of three nodes elect, with an epoch beyond all promises") {
  stands_by();
  Join late = voter("b");
  late.voter.promised = 6;
  says("a", voter("a"));
  says("b", late);
  CHECK(ordered<RequestVote>("a").epoch == 7);
  CHECK_FALSE(order<Joined>("a").has_value());
}

TEST_CASE_METHOD(SuccessionFixture, "only who has promised is given orders") {
  stands_by();
  for (const char* node : {"a", "b"}) says(node, voter(node));
  promises("a");
  CHECK_FALSE(order<Joined>("a").has_value());
  promises("b");
  CHECK(ordered<Joined>("a").epoch == 2);
  CHECK(ordered<Joined>("b").epoch == 2);
}

TEST_CASE_METHOD(SuccessionFixture, "a promise for another election counts for nothing") {
  stands_by();
  for (const char* node : {"a", "b"}) says(node, voter(node));
  promises("a");
  says("b", Vote{1});
  CHECK_FALSE(order<Joined>("a").has_value());
}

TEST_CASE_METHOD(SuccessionFixture,
                 "the job goes on at once, from where it was, when the coordinator is dead") {
  stands_by();
  for (const char* node : {"a", "b"}) {
    Join join = survivor(node);
    join.voter.old_lease_ms = 4'000;
    says(node, join);
  }
  for (const char* node : {"a", "b"}) promises(node);
  const StartRound begun = start("a");
  CHECK(begun.round == 5);
  CHECK(begun.attempt == 2);
  CHECK(begun.epoch == 2);
  CHECK(begun.group_world_size == 2);
}

TEST_CASE_METHOD(SuccessionFixture,
                 "while workers of the old world may be alive no new one begins") {
  stands_by();
  for (const char* node : {"a", "b"}) {
    Join join = voter(node);
    join.voter.old_lease_ms = 4'000;
    says(node, join);
  }
  for (const char* node : {"a", "b"}) promises(node);
  passes_hearing(3'500ms, {"a", "b"});
  CHECK_FALSE(order<StartRound>("a").has_value());
  passes_hearing(1s, {"a", "b"});
  CHECK(order<StartRound>("a").has_value());
}

TEST_CASE_METHOD(
    SuccessionFixture,
    "the old coordinator may have begun more, so all voters have to know that it is dead") {
  stands_by();
  for (const char* node : {"a", "b", "c"}) {
    Join join = voter(node);
    join.voter.old_lease_ms = 4'000;
    join.voter.leader_dead = *node != 'c';
    join.voter.dead_ranks = "0";
    says(node, join);
  }
  for (const char* node : {"a", "b", "c"}) promises(node);
  CHECK_FALSE(order<StartRound>("a").has_value());
}

TEST_CASE_METHOD(SuccessionFixture,
                 "a coordinator that half of the nodes do not hear stops at once") {
  coordinates({"a", "b", "c"});
  passes_hearing(kHeartbeat - 500ms, {"a"});
  CHECK_FALSE(order<StopRound>("a").has_value());
  passes_hearing(1s, {"a"});
  CHECK(ordered<StopRound>("a").at_once);
  says("a", WorkersStopped{1});
  passes_hearing(20s, {"a"});
  CHECK(order<StartRound>("a")->round == 1);  // the first one, and none since
}

TEST_CASE_METHOD(SuccessionFixture,
                 "with half of the nodes it goes on, for the others are no majority") {
  coordinates({"a", "b"});
  start("a");
  passes_hearing(2 * kHeartbeat, {"a"});
  says("a", WorkersStopped{1});
  CHECK(start("a").group_world_size == 1);
}

TEST_CASE_METHOD(SuccessionFixture, "a job needs as many nodes as keep its coordinator") {
  coordinates({"a", "b", "c"});
  CHECK(machine_->status(now_, 0).nodes_min == 2);
}

TEST_CASE_METHOD(SuccessionFixture, "a node that leaves in order takes its vote along") {
  coordinates({"a", "b", "c"});
  start("a");
  for (const char* node : {"b", "c"}) says(node, Leave{"stopped by SIGTERM"});
  says("a", WorkersStopped{1});
  CHECK(start("a").round == 2);
}

TEST_CASE_METHOD(SuccessionFixture,
                 "a node that has promised to obey another one leaves its vote to that one") {
  const auto late_vote = GENERATE(1, 2);
  coordinates({"a", "b", "c"});
  says("a", Leave{"stopped by SIGTERM"});
  passes(2 * kHeartbeat);  // and hears nothing of the others
  Join back = join_of("b");
  const Configuration first{{1, 1}, 3, true, 1};
  back.voter = {.epoch = 1, .promised = late_vote, .proposed = first, .committed = first};
  says("b", back);
  says("b", Leave{"stopped by SIGTERM"});
  Join fresh = join_of("x");
  says("x", fresh);
  passes_hearing(kHeartbeat, {"x"});
  CHECK(order<StartRound>("x").has_value() == (late_vote == 1));
}

TEST_CASE_METHOD(SuccessionFixture, "what was said long ago renews no authority when it comes") {
  coordinates({"a", "b", "c"});
  const std::int64_t then = microseconds(now_);
  now_ += 2 * kHeartbeat;  // it was frozen
  for (const char* node : {"a", "b"}) says(node, Beat{.echo_us = then, .round = 1, .epoch = 1});
  CHECK(ordered<StopRound>("a").at_once);
}

TEST_CASE_METHOD(SuccessionFixture, "a lease ends before others could have been elected") {
  coordinates({"a", "b", "c"});
  passes(3s);
  says("a", Beat{.clock_us = microseconds(now_), .echo_us = 1, .round = 1, .epoch = 1});
  const auto lease = ordered<Beat>("a").lease_ms;
  CHECK(lease >= 0);
  CHECK(lease <= 2'000);  // nobody has heard of it for 3 s of 5
}

TEST_CASE_METHOD(SuccessionFixture, "a node whose link broke is knocked at, and not lost") {
  coordinates({"a", "b", "c"});
  step_and_keep(PeerLost{peers_["b"], "connection reset"});
  REQUIRE(last_actions_.size() == 1);
  CHECK(std::get<Probe>(last_actions_.front()).node == "b");
}

TEST_CASE_METHOD(SuccessionFixture,
                 "a node that waits for a majority learns how many nodes that takes, and not MIN") {
  coordinates({"a", "b", "c", "d", "e"});
  for (const char* node : {"c", "d", "e"}) {
    is_lost(node);
    step(Probed{node, true});
  }
  for (const char* node : {"a", "b"}) says(node, WorkersStopped{1});
  says("a", Beat{.clock_us = microseconds(now_)});
  const Waiting told = ordered<Waiting>("a");
  CHECK(told.nodes == 2);
  CHECK(told.nodes_min == 3);
  passes_hearing(11min, {"a", "b"});
  CHECK(ordered<EndJob>("a").message.starts_with("waited 600 s for nodes: 2 there, 3 needed"));
}

TEST_CASE_METHOD(SuccessionFixture, "if no process listens there any more it is lost at once") {
  coordinates({"a", "b", "c"});
  is_lost("b");
  step(Probed{"b", false});
  CHECK_FALSE(order<StopRound>("a").has_value());
  step(Probed{"b", true});
  CHECK(ordered<StopRound>("a").reason.find("node b lost") == 0);
}

TEST_CASE_METHOD(SuccessionFixture, "when it comes back with its workers, the round goes on") {
  coordinates({"a", "b", "c"});
  is_lost("b");
  Join again = join_of("b");
  again.incarnation = 2;
  again.voter.running = 1;
  again.voter.standby_port = 7;
  says("b", again);
  CHECK(ordered<Joined>("b").resumed);
  CHECK_FALSE(order<StopRound>("a").has_value());
}

TEST_CASE_METHOD(SuccessionFixture,
                 "workers of another round have to be stopped before their node joins") {
  coordinates({"a", "b", "c"});
  Join other = join_of("d");
  other.voter.running = 9;
  says("d", other);
  CHECK(ordered<Redirect>("d").coordinator.empty());
  CHECK(dropped("d"));
}

TEST_CASE_METHOD(SuccessionFixture, "who hears of a later coordinator sends its nodes there") {
  coordinates({"a", "b", "c"});
  step(HigherEpoch{2, "h1:7"});
  const auto sent = ordered<Redirect>("a");
  CHECK(sent.coordinator == "h1:7");
  CHECK(sent.epoch == 2);
  CHECK(dropped("a"));
  CHECK(machine_->epoch() == 0);
}

TEST_CASE_METHOD(SuccessionFixture, "an earlier coordinator supersedes nobody") {
  coordinates({"a", "b", "c"});
  step(HigherEpoch{1, "h1:7"});
  CHECK_FALSE(order<Redirect>("a").has_value());
  CHECK(machine_->epoch() == 1);
}

TEST_CASE_METHOD(
    SuccessionFixture,
    "a coordinator that was started again needs votes as soon as it meets the old world") {
  coordinates({});
  Join fresh = join_of("x");
  says("a", voter("a"));
  CHECK(order<Candidate>("a").has_value());
  says("x", fresh);
  CHECK_FALSE(order<StartRound>("x").has_value());
}

TEST_CASE_METHOD(SuccessionFixture,
                 "who came late tells one that was started again that the job is no new one") {
  coordinates({});
  for (const NodeId node : {"x", "y"}) {
    Join late = join_of(node);
    late.voter = {.epoch = 2, .promised = 2, .committed = {{2, 3}, 3}};
    says(node, late);
    CHECK(order<Candidate>(node).has_value());
    CHECK_FALSE(order<RequestVote>(node).has_value());
  }
}

TEST_CASE_METHOD(SuccessionFixture, "who comes while the workers stop hears of the round before") {
  coordinates({"a", "b", "c"});
  fails("a", 1);
  Join late = join_of("x");
  says("x", late);
  const auto beat = ordered<Beat>("x");
  CHECK(beat.committed == 1);
  CHECK(beat.committed_nodes == 3);
}

TEST_CASE_METHOD(SuccessionFixture, "a new coordinator informs the former one, again and again") {
  stands_by();
  for (const char* node : {"a", "b"}) says(node, voter(node));
  promises("a");
  CHECK(announces_to("b") == std::vector<std::string>{"h0:1"});
}

TEST_CASE_METHOD(
    SuccessionFixture,
    "the successor of a second coordinator informs a node that returns in the first one's place") {
  job({.terms = {.nodes_min = 1, .nodes_max = 3},
       .leadership = LeadershipKind::kElected,
       .begins = Begins::kStandingBy,
       .endpoint = "first:1"});
  Join own = voter("a");
  own.voter.colocated = true;
  says("a", own);
  says("b", voter("b"));
  promises("a");
  CHECK(announces_to("b") == std::vector<std::string>{"first:1", "h0:1"});
}

TEST_CASE_METHOD(SuccessionFixture,
                 "a spare, who knows only rounds of before, does not tell who is missing") {
  stands_by();
  for (const char* node : {"a", "b", "spare"}) {
    Join join = voter(node);
    join.voter.leader_dead = true;
    join.voter.old_lease_ms = 3'000;
    join.voter.proposed.member = join.voter.committed.member = join.node != "spare";
    says(node, join);
  }
  for (const char* node : {"a", "b", "spare"}) promises(node);
  passes(1s);
  CHECK_FALSE(order<StartRound>("a").has_value());  // the third one may have workers
}

TEST_CASE_METHOD(
    SuccessionFixture,
    "a coordinator that died while it began a round leaves nobody without a majority") {
  stands_by();
  const Configuration first{kLast, 5, true};
  std::vector<NodeId> nodes{"c", "d", "e"};
  for (int rank = 2; rank <= 4; ++rank) {
    Join join = survivor(nodes[static_cast<std::size_t>(rank - 2)]);
    join.voter.committed = {kLast, 5, true, rank};
    join.voter.proposed = rank == 2 ? Configuration{{1, 5}, 4, true, 1, "1-4"} : first;
    join.voter.proposed.rank = rank == 2 ? 1 : rank;
    join.voter.old_lease_ms = 3'000;
    says(join.node, join);
  }
  for (const NodeId& node : nodes) promises(node);
  passes(500ms);
  CHECK_FALSE(order<StartRound>("c").has_value());  // others may have workers of that round
  passes_hearing(3s, nodes);
  CHECK(start("c").group_world_size == 3);
}

TEST_CASE_METHOD(SuccessionFixture, "the members that have to know of a round come with it") {
  coordinates({"a", "b", "c"});
  CHECK(start("a").awaited.empty());
  is_lost("b");
  step(Probed{"b", true});
  for (const char* node : {"a", "c"}) says(node, WorkersStopped{1});
  CHECK(start("c").awaited == "0,2");
}

TEST_CASE_METHOD(SuccessionFixture,
                 "a newcomer that has to vote first does not stop a full round") {
  coordinates({"a", "b"});
  Join late = join_of("c");
  late.voter.promised = 6;
  says("c", late);
  CHECK(machine_->status(now_, 0).nodes.back().state == NodeStatus::State::kWaiting);
  for (const char* node : {"a", "b", "c"}) promises(node);
  CHECK(order<Spare>("c").has_value());
  CHECK_FALSE(order<StopRound>("a").has_value());
}

}  // namespace
}  // namespace ddprun
