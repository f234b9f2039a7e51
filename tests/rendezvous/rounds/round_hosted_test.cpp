// CoordinatorMachine at a `ddprun server` that was started again: which rounds go on, and when
// another one may begin.
#include "tests/rendezvous/rounds/round_fixture.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;

constexpr auto kPatience = 5s;
constexpr auto kHold = kPatience;

class HostedFixture : protected RoundFixture {
 protected:
  HostedFixture() { now_ += 1h; }

  /// The server was started that long ago; just now by default.
  void server(int nodes_min, int nodes_max, std::chrono::milliseconds ago = 0ms) {
    job({.terms = {.nodes_min = nodes_min,
                   .nodes_max = nodes_max,
                   .restarts_max = 1,
                   .last_call_timeout = 0ms,
                   .heartbeat_timeout = kPatience},
         .leadership = LeadershipKind::kServer,
         .server_since = now_ - ago});
  }
  Join agent(const NodeId& node) const {
    Join join = join_of(node);
    join.voter.standby_port = 7;
    return join;
  }
  /// A node of round 4, which has two nodes of one worker each.
  Join member(const NodeId& node, int rank) const {
    Join join = agent(node);
    join.counters = {.round = 4, .attempt = 1};
    join.voter.assignment = {4, 2, rank, rank, 2, 2'000};
    return join;
  }
  Join runs(const NodeId& node, int rank) const {
    Join join = member(node, rank);
    join.voter.running = 4;
    return join;
  }
  /// Such a node, in a round of three nodes instead.
  static Join of_three(Join join) {
    join.voter.assignment.nodes = join.voter.assignment.world_size = 3;
    return join;
  }
  /// Node a has two workers, and only the second one of them is in the round.
  Join runs_beside_a_vacant_seat(std::int64_t incarnation = 1) const {
    Join join = runs("a", 0);
    join.incarnation = incarnation;
    join.workers = 2;
    join.voter.assignment.vacant = "0";
    return join;
  }
  void both_return_with_a_vacant_seat() {
    says("a", runs_beside_a_vacant_seat());
    says("b", runs("b", 1));
  }
  void both_return() {
    says("a", runs("a", 0));
    says("b", runs("b", 1));
  }
  /// What is asked of the shell: where the store was, and at whom it is to knock.
  template <typename Action>
  std::optional<Action> did(const CoordinatorEvent& event) {
    std::optional<Action> last;
    for (const CoordinatorAction& action : machine_->step(event, now_))
      if (const auto* found = std::get_if<Action>(&action)) last = *found;
    return last;
  }
};

TEST_CASE_METHOD(HostedFixture,
                 "a round goes on when all its nodes are back, and no message is sent") {
  server(2, 2);
  both_return();
  for (const char* node : {"a", "b"}) {
    const Joined answer = ordered<Joined>(node);
    CHECK(answer.resumed);
    CHECK(answer.keeps_workers);
  }
  passes_beating(2 * kHold, {"a", "b"});
  for (const char* node : {"a", "b"}) {
    CHECK_FALSE(order<StartRound>(node).has_value());
    CHECK_FALSE(order<StopRound>(node).has_value());
    CHECK_FALSE(order<Redirect>(node).has_value());
  }
  says("a", WorkersFinished{4});
  says("b", WorkersFinished{4});
  const EndJob end = ordered<EndJob>("b");
  CHECK(end.outcome == EndJob::Outcome::kFinished);
  CHECK(end.restarts == 1);
}

TEST_CASE_METHOD(HostedFixture, "the progress of a round that goes on is known") {
  server(2, 2);
  both_return();
  says("b", Progress{4, {{.rank = 1, .step = 20}}});
  CHECK(machine_->status(now_, 0).ranks.back().step == 20);
}

TEST_CASE_METHOD(HostedFixture, "seats stay vacant in a round that goes on, and are filled") {
  server(2, 2);
  both_return_with_a_vacant_seat();
  CHECK(ordered<Joined>("b").resumed);
  CHECK(machine_->status(now_, 0).ranks.size() == 2);
  for (const NodeId node : {"a", "b"}) says(node, WorkersStay{4, true});
  says("a", Prepared{});
  CHECK(ordered<StopRound>("b").keep);
  says("a", WorkersStopped{4, {"0-1"}});
  says("b", WorkersStopped{4, {"0"}});
  CHECK(start("a").world_size == 3);
}

TEST_CASE_METHOD(HostedFixture, "who comes back to a round says again that others can come in") {
  server(2, 2);
  both_return_with_a_vacant_seat();
  is_lost("a");
  says("a", runs_beside_a_vacant_seat(2));
  for (const NodeId node : {"a", "b"}) says(node, WorkersStay{4, true});
  says("a", Prepared{});
  CHECK(order<StopRound>("b").has_value());
}

TEST_CASE_METHOD(HostedFixture, "a job does not end before all nodes of its round are back") {
  server(2, 2);
  says("a", runs("a", 0));
  says("a", WorkersFinished{4});
  CHECK_FALSE(order<EndJob>("a").has_value());
  says("b", runs("b", 1));
  says("b", WorkersFinished{4});
  CHECK(ordered<EndJob>("a").outcome == EndJob::Outcome::kFinished);
}

TEST_CASE_METHOD(HostedFixture, "the store listens where the workers of the round look for it") {
  server(2, 2);
  const auto open = did<OpenStore>(FromPeer{1, runs("a", 0), "host-a"});
  REQUIRE(open.has_value());
  CHECK(open->port == 2'000);
  CHECK(open->world_size == 2);
}

TEST_CASE_METHOD(HostedFixture, "a port of the system is opened for nobody") {
  server(2, 2);
  Join join = runs("a", 0);
  join.voter.assignment.store_port = 22;
  const auto open = did<OpenStore>(FromPeer{1, join, "host-a"});
  REQUIRE(open.has_value());
  CHECK(open->port == 0);
}

TEST_CASE_METHOD(HostedFixture, "a round whose store cannot listen there is stopped") {
  server(2, 2);
  both_return();
  step(StoreGone{4, "taken"});
  CHECK(ordered<StopRound>("a").attempt == 1);
  says("a", WorkersStopped{4});
  says("b", WorkersStopped{4});
  CHECK(start("a").round == 5);
}

TEST_CASE_METHOD(HostedFixture, "who does not come back costs the round, and no restart") {
  server(1, 2);
  says("a", runs("a", 0));
  passes_beating(kHold - 1s, {"a"});
  CHECK_FALSE(order<StopRound>("a").has_value());
  passes_beating(1s, {"a"});
  CHECK(ordered<StopRound>("a").attempt == 1);
  says("a", WorkersStopped{4});
  const StartRound next = start("a");
  CHECK(next.round == 5);
  CHECK(next.attempt == 1);
}

TEST_CASE_METHOD(HostedFixture, "a node that has stopped its workers stops the round") {
  server(2, 2);
  says("a", runs("a", 0));
  says("b", member("b", 1));
  CHECK(order<StopRound>("a").has_value());
  says("a", WorkersStopped{4});
  CHECK(start("b").round == 5);  // nobody else can have workers
}

TEST_CASE_METHOD(HostedFixture,
                 "a round that is stopped may have workers yet on a node that is not back") {
  server(1, 3);
  says("a", of_three(runs("a", 0)));
  says("b", of_three(member("b", 1)));
  CHECK(order<StopRound>("a").has_value());
  says("a", WorkersStopped{4});
  passes_beating(kHold - 1s, {"a", "b"});
  CHECK_FALSE(order<StartRound>("a").has_value());
  passes_beating(1s, {"a", "b"});
  CHECK(start("a").round == 5);
}

TEST_CASE_METHOD(HostedFixture,
                 "a node without workers takes no time from those that stop theirs") {
  server(1, 3);
  says("a", of_three(runs("a", 0)));
  says("b", of_three(member("b", 1)));
  CHECK(order<StopRound>("a").has_value());
  says("c", of_three(member("c", 2)));
  passes_beating(rules_.terms.shutdown_timeout, {"a", "b", "c"});
  CHECK_FALSE(dropped("a"));
  says("a", WorkersStopped{4});
  CHECK(start("a").round == 5);
}

TEST_CASE_METHOD(HostedFixture, "a round does not go on that somebody has stopped") {
  server(2, 2);
  says("b", member("b", 1));
  says("a", runs("a", 0));
  CHECK(order<Redirect>("a").has_value());
  CHECK(dropped("a"));
}

TEST_CASE_METHOD(HostedFixture, "a round does not go on when a later attempt is known") {
  server(2, 2);
  says("a", runs("a", 0));
  Join other = runs("b", 1);
  other.counters.attempt = 2;
  says("b", other);
  CHECK(order<Redirect>("b").has_value());
}

TEST_CASE_METHOD(HostedFixture, "two nodes with one place are not both in the round") {
  server(2, 2);
  says("a", runs("a", 0));
  says("b", runs("b", 0));
  CHECK(order<Redirect>("b").has_value());
  passes_beating(kHold, {"a"});
  CHECK(order<StopRound>("a").has_value());
}

TEST_CASE_METHOD(HostedFixture, "a place that no round can have is no place") {
  server(2, 2);
  const auto refuses = [&](auto change) {
    Join join = runs("a", 0);
    change(join.voter.assignment);
    says("a", join);
    return order<Redirect>("a").has_value();
  };
  CHECK(refuses([](HostedAssignment& s) { s.nodes = 3; }));
  CHECK(refuses([](HostedAssignment& s) { s.nodes = 0; }));
  CHECK(refuses([](HostedAssignment& s) { s.group_rank = 2; }));
  CHECK(refuses([](HostedAssignment& s) { s.group_rank = -1; }));
  CHECK(refuses([](HostedAssignment& s) { s.first_rank = 2; }));
  CHECK(refuses([](HostedAssignment& s) { s.first_rank = -1; }));
  CHECK(refuses([](HostedAssignment& s) { s.store_port = 70'000; }));
  CHECK(refuses([](HostedAssignment& s) { s.round = 3; }));
  CHECK(refuses([](HostedAssignment& s) { s.vacant = "0"; }));
  CHECK_FALSE(refuses([](HostedAssignment&) {}));
}

TEST_CASE_METHOD(HostedFixture, "workers whose lease is over do not go on") {
  server(1, 2, kHold);
  says("a", runs("a", 0));
  CHECK(order<Redirect>("a").has_value());
}

TEST_CASE_METHOD(HostedFixture, "no round begins while workers of before may be alive") {
  server(2, 2);
  says("a", member("a", 0));
  Join other = agent("c");
  says("c", other);
  passes_beating(kHold - 1s, {"a", "c"});
  CHECK_FALSE(order<StartRound>("a").has_value());
  passes_beating(1s, {"a", "c"});
  CHECK(start("a").round == 5);
}

TEST_CASE_METHOD(HostedFixture, "nodes that know of nothing wait for workers that may be left") {
  server(2, 2);
  says("a", agent("a"));
  says("b", agent("b"));
  passes_beating(kHold - 1s, {"a", "b"});
  CHECK_FALSE(order<StartRound>("a").has_value());
  passes_beating(1s, {"a", "b"});
  CHECK(start("a").round == 1);
}

TEST_CASE_METHOD(HostedFixture, "nodes learn for how long workers of before are waited for") {
  server(2, 2);
  says("a", agent("a"));
  says("a", Beat{});
  CHECK(ordered<Waiting>("a").left_ms == rules_.terms.join_timeout.count());
  says("b", agent("b"));
  passes(1s);
  says("a", Beat{});
  CHECK(ordered<Waiting>("a").left_ms == 4'000);
}

TEST_CASE_METHOD(HostedFixture, "a job begins at once when the server has been there for long") {
  server(2, 2, kHold);
  says("a", agent("a"));
  says("b", agent("b"));
  CHECK(start("a").round == 1);
  CHECK(start("b").lease_ms == 5'000);
}

TEST_CASE_METHOD(HostedFixture, "a failure is for free when the store is new") {
  server(2, 2);
  both_return();
  fails("b", 4, 1);
  CHECK(ordered<StopRound>("a").attempt == 1);
  says("a", WorkersStopped{4});
  says("b", WorkersStopped{4});
  CHECK(start("a").attempt == 1);
  fails("b", 5, 1);
  says("a", WorkersStopped{5});
  says("b", WorkersStopped{5});
  CHECK(ordered<EndJob>("a").outcome == EndJob::Outcome::kFailed);
}

TEST_CASE_METHOD(HostedFixture, "a spare waits until the round is complete, and stays a spare") {
  server(2, 2);
  Join spare = agent("s");
  spare.counters = {.round = 4, .attempt = 1};
  says("s", spare);
  both_return();
  CHECK_FALSE(order<StopRound>("a").has_value());
  CHECK(ordered<Spare>("s").round == 4);
}

TEST_CASE_METHOD(HostedFixture, "a node joins a round with a free place once all are back") {
  server(1, 3);
  says("n", agent("n"));
  says("a", runs("a", 0));
  CHECK_FALSE(order<StopRound>("a").has_value());
  says("b", runs("b", 1));
  CHECK(order<StopRound>("a").has_value());
}

TEST_CASE_METHOD(HostedFixture, "a connection that breaks is no death, and a refused one is") {
  server(2, 2, 1h);
  says("a", agent("a"));
  says("b", agent("b"));
  REQUIRE(start("a").round == 1);
  const auto knock = did<Probe>(PeerLost{peers_["b"], "connection closed"});
  REQUIRE(knock.has_value());
  CHECK(knock->endpoint == "host-b:7");
  CHECK_FALSE(order<StopRound>("a").has_value());

  SECTION("it comes back, and its workers go on") {
    Join back = agent("b");
    back.incarnation = 2;
    back.voter.running = 1;
    says("b", back);
    CHECK(ordered<Joined>("b").resumed);
    CHECK_FALSE(order<StopRound>("a").has_value());
  }
  SECTION("its process is gone") {
    step(Probed{"b", true});
    CHECK(order<StopRound>("a").has_value());
  }
}

TEST_CASE_METHOD(HostedFixture, "an agent that cannot be knocked at stops its workers as before") {
  server(2, 2, 1h);
  Join unheard = agent("b");
  unheard.voter.standby_port = 0;
  says("a", agent("a"));
  says("b", unheard);
  CHECK(ordered<Joined>("a").keeps_workers);
  CHECK_FALSE(ordered<Joined>("b").keeps_workers);
  is_lost("b");
  CHECK(order<StopRound>("a").has_value());
}

}  // namespace
}  // namespace ddprun
