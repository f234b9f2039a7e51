// CoordinatorMachine with a witness: when it votes beside the nodes, and what it has to know.
#include "tests/rendezvous/rounds/round_fixture.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;

class WitnessedFixture : protected RoundFixture {
 protected:
  WitnessedFixture() { now_ += 1h; }  // a clock that says 0 has said nothing

  CoordinatorRules rules_of_job() const {
    return {.terms = {.nodes_min = 1, .nodes_max = 2, .restarts_max = 3},
            .leadership = LeadershipKind::kElected,
            .endpoint = "h0:1",
            .places = {"h0:1", "w:1"}};
  }
  Join witness(const NodeId& id = "w") const {
    Join join{.node = id, .host = id};
    join.witness = true;
    return join;
  }
  /// A coordinator with two nodes and a witness, whose first round has settled.
  void coordinates() { coordinates(rules_of_job()); }
  void coordinates(const CoordinatorRules& rules) {
    job(rules);
    for (const char* node : {"a", "b"}) node_joins(node);
    says("w", witness());
    all_hear(1, 1);
  }
  void node_joins(const NodeId& node) {
    Join join = join_of(node);
    join.voter.standby_port = 7;
    says(node, join);
  }
  /// It beats, and has heard what was said until now.
  void hears(const NodeId& node, int round, int revision) {
    says(node, Beat{.clock_us = microseconds(now_),
                    .echo_us = microseconds(now_),
                    .round = round,
                    .epoch = 1,
                    .revision = revision});
  }
  void all_hear(int round, int revision) {
    for (const char* node : {"a", "b", "w"}) hears(node, round, revision);
  }
  JobStatus status() const { return machine_->status(now_, 0); }
  /// Where a witness is invited to vote; "": none is invited.
  std::string invites() {
    did<InviteWitnesses>();
    passes(kInvitePause);
    const auto order = did<InviteWitnesses>();
    if (order) CHECK(order->endpoints == std::vector<std::string>{"w:1"});
    return order ? order->invitation.coordinator : "";
  }
};

TEST_CASE_METHOD(WitnessedFixture, "a witness votes in a round of two nodes, which goes on") {
  job(rules_of_job());
  for (const char* node : {"a", "b"}) node_joins(node);
  CHECK(start("a").group_world_size == 2);
  CHECK(invites() == "h0:1");
  says("w", witness());
  passes(kInvitePause);
  CHECK(invites().empty());
  CHECK_FALSE(order<StopRound>("a").has_value());
  const Reconfigure told = ordered<Reconfigure>("b");
  CHECK(told.witnessed);
  CHECK(told.round.version == ConfigurationVersion{1, 1, 1});
  CHECK(told.round.voters == 3);
  CHECK(told.round.rank == 1);
  CHECK(ordered<Reconfigure>("w").round.rank == 2);
  CHECK_FALSE(order<StartRound>("w").has_value());
}

TEST_CASE_METHOD(WitnessedFixture, "it is announced as a voter when all know that it votes") {
  job(rules_of_job());
  for (const char* node : {"a", "b"}) node_joins(node);
  says("w", witness());
  for (const char* node : {"a", "w"}) hears(node, 1, 1);
  CHECK(status().witness.empty());
  hears("b", 1, 1);
  CHECK(status().witness == "w");
  CHECK(status().nodes.size() == 2);
}

TEST_CASE_METHOD(WitnessedFixture, "it has no vote beside an odd number of nodes") {
  CoordinatorRules rules = rules_of_job();
  rules.terms.nodes_max = 3;
  job(rules);
  for (const char* node : {"a", "b", "c"}) node_joins(node);
  says("w", witness());
  CHECK_FALSE(order<Reconfigure>("a").has_value());
  CHECK_FALSE(order<Reconfigure>("w").has_value());
}

TEST_CASE_METHOD(WitnessedFixture, "without it the nodes vote alone, and another one is welcome") {
  coordinates();
  order<Reconfigure>("a");
  is_lost("w");
  const Reconfigure alone = ordered<Reconfigure>("a");
  CHECK_FALSE(alone.witnessed);
  CHECK(alone.round.voters == 2);
  for (const char* node : {"a", "b"}) hears(node, 1, 2);
  passes(kInvitePause);
  CHECK(did<InviteWitnesses>());
  says("w2", witness("w2"));
  CHECK(ordered<Reconfigure>("b").round == Configuration{{1, 1, 3}, 3, true, 1, "0-1"});
  CHECK_FALSE(order<StopRound>("a").has_value());
}

TEST_CASE_METHOD(WitnessedFixture, "there is one witness, and a second one is refused") {
  coordinates();
  says("w2", witness("w2"));
  CHECK(ordered<Refused>("w2").reason == "the job has a witness already");
}

TEST_CASE_METHOD(WitnessedFixture, "one node and the witness keep the coordinator") {
  coordinates();
  order<StartRound>("a");
  is_lost("b");
  for (int i = 0; i < 10; ++i) {  // it does not come back
    passes(500ms);
    for (const char* node : {"a", "w"}) hears(node, 1, 1);
  }
  CHECK_FALSE(ordered<StopRound>("a").at_once);
  says("a", WorkersStopped{1});
  CHECK(start("a").group_world_size == 1);
}

TEST_CASE_METHOD(WitnessedFixture,
                 "a job that has failed waits for its witness to end, and begins no round") {
  CoordinatorRules rules = rules_of_job();
  rules.terms.restarts_max = 0;
  coordinates(rules);
  order<StartRound>("a");
  step(PeerLost{peers_["b"], "gone"});
  step(Probed{"b", true});
  CHECK(ordered<StopRound>("a").round == 1);
  says("a", WorkersStopped{1});
  CHECK(start("a").round == 2);
  hears("a", 2, 0);
  fails("a", 2);
  CHECK(ordered<StopRound>("a").attempt == 1);
  says("a", WorkersStopped{2});
  CHECK_FALSE(order<StartRound>("a").has_value());
  CHECK_FALSE(order<EndJob>("a").has_value());
  hears("w", 2, 0);
  CHECK(ordered<EndJob>("a").outcome == EndJob::Outcome::kFailed);
}

TEST_CASE_METHOD(WitnessedFixture,
                 "one node alone does not, when the witness is lost with the other") {
  coordinates();
  order<StartRound>("a");
  step(PeerLost{peers_["b"], "gone"});
  step(PeerLost{peers_["w"], "gone"});
  step(Probed{"b", true});
  CHECK(ordered<StopRound>("a").round == 1);
  says("a", WorkersStopped{1});
  passes_beating(2s, {"a"});
  CHECK_FALSE(order<StartRound>("a").has_value());
}

TEST_CASE_METHOD(WitnessedFixture,
                 "the witness knows how many restarts were spent before it is relied on") {
  coordinates();
  order<StartRound>("a");
  fails("a", 1);
  step(PeerLost{peers_["b"], "gone"});
  step(Probed{"b", true});
  hears("w", 1, 1);
  says("a", WorkersStopped{1});
  CHECK_FALSE(order<StartRound>("a").has_value());
  CHECK(ordered<StopRound>("w").attempt == 1);
  says("w", WorkersStopped{1});
  CHECK(start("a").attempt == 1);
}

TEST_CASE_METHOD(WitnessedFixture, "the job ends when the witness knows of the last round") {
  coordinates();
  step(PeerLost{peers_["b"], "gone"});
  step(Probed{"b", true});
  for (const char* node : {"a", "w"}) hears(node, 1, 1);
  CHECK(ordered<StopRound>("a").round == 1);
  says("a", WorkersStopped{1});
  CHECK(start("a").round == 2);
  says("a", Beat{.clock_us = 1, .echo_us = microseconds(now_), .round = 2, .epoch = 1});
  says("a", WorkersFinished{2});
  CHECK_FALSE(order<EndJob>("a").has_value());
  hears("w", 2, 0);
  CHECK(ordered<EndJob>("a").outcome == EndJob::Outcome::kFinished);
}

TEST_CASE_METHOD(WitnessedFixture, "it is informed when all nodes have left in order") {
  coordinates();
  says("b", Leave{"stopped by SIGTERM"});
  CHECK_FALSE(order<Dismiss>("w").has_value());
  says("a", Leave{"stopped by SIGTERM"});
  CHECK(order<Dismiss>("w").has_value());
}

class SucceedingFixture : public WitnessedFixture {
 protected:
  /// What stands by on the second node when the coordinator, which was on the first one, is lost.
  void stands_by() {
    CoordinatorRules rules = rules_of_job();
    rules.begins = Begins::kStandingBy;
    job(rules);
  }
  VoterState voter(int rank) const {
    const Configuration last{{1, 4, 1}, 3, true, rank};
    VoterState voter{.epoch = 1, .promised = 1, .proposed = last, .committed = last};
    voter.leader = "h0:1";
    return voter;
  }
  void node_votes() {
    Join join = join_of("b");
    join.counters = {.round = 4, .attempt = 2};
    join.voter = voter(1);
    join.voter.leader_dead = true;
    join.voter.dead_ranks = "0";
    join.voter.old_lease_ms = 4'000;
    join.voter.standby_port = 7;
    join.voter.colocated = true;
    says("b", join);
  }
  void witness_votes() {
    Join join = witness();
    join.voter = voter(2);
    join.voter.old_lease_ms = 4'000;
    says("w", join);
  }
  void promises(const NodeId& node) {
    const RequestVote elect = ordered<RequestVote>(node);
    says(node, Vote{elect.epoch, elect.clock_us});
  }
};

TEST_CASE_METHOD(SucceedingFixture, "one of two nodes follows at once, with the witness") {
  stands_by();
  CHECK(invites().empty());
  node_votes();
  CHECK(invites() == "host-b:7");
  CHECK_FALSE(order<RequestVote>("b").has_value());
  witness_votes();
  for (const char* node : {"b", "w"}) promises(node);
  CHECK_FALSE(order<StartRound>("b").has_value());  // the witness is to know of the attempt
  says("w", WorkersStopped{4});
  CHECK(start("b").attempt == 2);
  CHECK(ordered<Spare>("w").round == 5);
}

TEST_CASE_METHOD(SucceedingFixture, "a witness that was started again has no vote in that round") {
  stands_by();
  node_votes();
  says("w", witness());
  CHECK_FALSE(order<RequestVote>("b").has_value());
}

TEST_CASE_METHOD(SucceedingFixture, "a witness is let go when nobody else votes here") {
  stands_by();
  node_votes();
  witness_votes();
  is_lost("b");
  CHECK(dropped("w"));
}

}  // namespace
}  // namespace ddprun
