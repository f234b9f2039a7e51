// CoordinatorMachine with spares: the first one votes beside an even number of nodes.
#include "tests/rendezvous/rounds/succession_fixture.hpp"

namespace ddprun {
namespace {

class SpareVotesFixture : protected SuccessionFixture {
 protected:
  void spare_comes(const NodeId& node) {
    Join join = join_of(node);
    join.voter.standby_port = 7;
    says(node, join);
  }
  void know(const std::vector<NodeId>& nodes, int revision, int round = 1) {
    for (const NodeId& node : nodes)
      says(node, Beat{.clock_us = microseconds(now_),
                      .echo_us = microseconds(now_),
                      .round = round,
                      .epoch = 1,
                      .revision = revision});
  }
  /// Two nodes and a spare, all of which know that the spare votes.
  void coordinates_with_spare() {
    coordinates({"a", "b"});
    spare_comes("s");
    know({"a", "b", "s"}, 1);
  }
  /// The process of the node is gone, too.
  void dies(const NodeId& node) {
    step(PeerLost{peers_[node], "gone"});
    step(Probed{node, true});
  }
  std::string remark_on(const NodeId& node) const {
    for (const NodeStatus& status : machine_->status(now_, 0).nodes)
      if (status.host == node) return status.reason;
    return "is not there";
  }
};

TEST_CASE_METHOD(SpareVotesFixture,
                 "the first spare votes beside two nodes, and their round goes on") {
  coordinates({"a", "b"});
  order<StopRound>("a");
  spare_comes("s");
  for (const auto& [node, rank] : {std::pair{"a", 0}, {"b", 1}, {"s", 2}}) {
    const Reconfigure told = ordered<Reconfigure>(node);
    CHECK(told.round == Configuration{{1, 1, 1}, 3, true, rank, "0-1"});
    CHECK(told.spare_votes);
    CHECK_FALSE(told.witnessed);
  }
  CHECK_FALSE(order<StopRound>("a").has_value());
}

TEST_CASE_METHOD(SpareVotesFixture, "a spare is announced as a voter when all know that it votes") {
  coordinates({"a", "b"});
  spare_comes("s");
  know({"a", "s"}, 1);
  CHECK(remark_on("s").empty());
  know({"b"}, 1);
  CHECK(remark_on("s") == "it votes beside the nodes of the round");
  CHECK(remark_on("b").empty());
}

TEST_CASE_METHOD(SpareVotesFixture, "beside three nodes a spare has no vote") {
  coordinates({"a", "b", "c"});
  spare_comes("s");
  CHECK_FALSE(order<Reconfigure>("a").has_value());
  CHECK_FALSE(order<Reconfigure>("s").has_value());
}

TEST_CASE_METHOD(SpareVotesFixture, "when the spare is lost the next one votes, or else nobody") {
  coordinates_with_spare();
  spare_comes("t");
  CHECK_FALSE(order<Reconfigure>("t").has_value());
  is_lost("s");
  CHECK(ordered<Reconfigure>("t").round == Configuration{{1, 1, 2}, 3, true, 2, "0-1"});
  know({"a", "b", "t"}, 2);
  is_lost("t");
  const Reconfigure alone = ordered<Reconfigure>("b");
  CHECK(alone.round.voters == 2);
  CHECK_FALSE(alone.spare_votes);
  CHECK_FALSE(order<StopRound>("a").has_value());
}

TEST_CASE_METHOD(SpareVotesFixture, "a spare that leaves in order gives up its vote") {
  coordinates_with_spare();
  says("s", Leave{"stopped by SIGTERM"});
  CHECK(ordered<Reconfigure>("a").round.voters == 2);
}

TEST_CASE_METHOD(SpareVotesFixture,
                 "the spare takes the place of a node that is lost, and votes as one") {
  coordinates_with_spare();
  dies("b");
  CHECK(ordered<StopRound>("a").round == 1);
  says("a", WorkersStopped{1});
  const StartRound next = start("s");
  CHECK(next.group_world_size == 2);
  CHECK(next.committed.voters == 3);
  CHECK(next.awaited == "0,2");
}

TEST_CASE_METHOD(SpareVotesFixture, "without its spare and one of two nodes the other one stops") {
  coordinates_with_spare();
  order<StartRound>("a");
  is_lost("s");
  dies("b");  // before the others know that the spare has no vote any more
  says("a", WorkersStopped{1});
  passes_beating(2s, {"a"});
  CHECK_FALSE(order<StartRound>("a").has_value());
}

TEST_CASE_METHOD(SpareVotesFixture, "a spare that is about to go is the last one to vote") {
  coordinates_with_spare();
  spare_comes("t");
  spare_comes("u");
  says("t", Preempt{"SIGUSR1 announces the end of this run", 1'000});
  is_lost("s");
  CHECK(ordered<Reconfigure>("u").round.member);
  CHECK_FALSE(ordered<Reconfigure>("t").round.member);
}

TEST_CASE_METHOD(SpareVotesFixture, "a spare that votes is not waited for a second time") {
  coordinates_with_spare();
  know({"a"}, 1);
  CHECK(ordered<Beat>("a").spares == 0);
  spare_comes("t");
  know({"a"}, 1);
  CHECK(ordered<Beat>("a").spares == 1);
}

/// What stands by on the second of two nodes when the coordinator, on the first one, is lost.
class SpareElectsFixture : protected SuccessionFixture {
 protected:
  SpareElectsFixture() {
    job({.terms = {.nodes_min = 2, .nodes_max = 2, .restarts_max = 3},
         .leadership = LeadershipKind::kElected,
         .begins = Begins::kStandingBy});
  }
  /// It has found that the coordinator's process is gone.
  Join of_round(const NodeId& node, int rank, const std::string& dead_ranks = "") const {
    Join join = survivor(node);
    const Configuration last{{1, 4, 1}, 3, true, rank};
    join.voter.proposed = join.voter.committed = last;
    join.voter.dead_ranks = dead_ranks;
    join.voter.old_lease_ms = 4'000;
    join.voter.standby_port = 7;
    return join;
  }
};

TEST_CASE_METHOD(SpareElectsFixture, "the other node and the spare go on at once, as one round") {
  says("b", of_round("b", 1, "0"));
  CHECK_FALSE(order<RequestVote>("b").has_value());
  says("s", of_round("s", 2));
  for (const char* node : {"b", "s"}) promises(node);
  CHECK(start("b").group_world_size == 2);
  CHECK(start("s").round == 5);
}

TEST_CASE_METHOD(SpareElectsFixture, "a spare without a vote is no majority with the other node") {
  says("b", of_round("b", 1, "0"));
  Join spare = of_round("s", -1);
  spare.voter.proposed.member = spare.voter.committed.member = false;
  says("s", spare);
  CHECK_FALSE(order<RequestVote>("b").has_value());
}

}  // namespace
}  // namespace ddprun
