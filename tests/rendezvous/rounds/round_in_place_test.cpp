// When CoordinatorMachine lets workers stay while members of the round change.
#include <csignal>

#include "rendezvous/rounds/in_place.hpp"
#include "tests/rendezvous/rounds/round_fixture.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;

/// Two nodes with one worker each, in round 1.
class InPlaceFixture : public RoundFixture {
 protected:
  InPlaceFixture() {
    job({.nodes_min = 1, .nodes_max = 2, .restarts_max = 9});
    for (const NodeId node : {"a", "b"}) says(node, join_of(node));
  }
  void stay(int round, const std::vector<NodeId>& nodes) {
    for (const NodeId& node : nodes) says(node, WorkersStay{round, true});
  }
  bool stay_when_b_fails(int round) {
    says("b", failed(round, 1, {.code = 3}));
    return ordered<StopRound>("a").keep;
  }
  void both_stop(int round) {
    for (const NodeId node : {"a", "b"}) says(node, WorkersStopped{round, {"0"}});
  }
};

TEST_CASE_METHOD(InPlaceFixture, "workers stay where all of the round can") {
  stay(1, {"a", "b"});
  says("b", failed(1, 1, {.code = 3}));
  CHECK(ordered<StopRound>("a").keep);
  CHECK(ordered<StopRound>("b").keep);
  both_stop(1);
  CHECK(ordered<StartRound>("a").round == 2);
  CHECK_FALSE(stay_when_b_fails(2));  // nobody has said so for this round
}

TEST_CASE_METHOD(InPlaceFixture, "all are stopped where one node's workers cannot stay") {
  stay(1, {"a"});
  CHECK_FALSE(stay_when_b_fails(1));
}

TEST_CASE_METHOD(InPlaceFixture, "all are stopped where workers cannot stay any more") {
  stay(1, {"a", "b"});
  says("a", WorkersStay{1, false});
  CHECK_FALSE(stay_when_b_fails(1));
}

TEST_CASE_METHOD(InPlaceFixture, "workers of those that are left stay when a node is lost") {
  stay(1, {"a", "b"});
  is_lost("b");
  CHECK(ordered<StopRound>("a").keep);
}

TEST_CASE_METHOD(InPlaceFixture,
                 "agents know whether workers may stay where the coordinator is lost") {
  const auto answer = [this] {
    says("a", Beat{});
    return ordered<Beat>("a").keep;
  };
  stay(1, {"a"});
  CHECK_FALSE(answer());
  stay(1, {"b"});
  CHECK(ordered<Beat>("a").keep);  // at once
  CHECK(answer());
  says("b", WorkersStay{1, false});
  CHECK_FALSE(answer());
  stay(1, {"b"});
  is_lost("b");
  says("a", WorkersStopped{1, {"0"}});
  CHECK(ordered<StartRound>("a").round == 2);
  CHECK_FALSE(answer());
}

TEST_CASE_METHOD(InPlaceFixture, "nobody stays for a checkpoint before the end") {
  stay(1, {"a", "b"});
  says("a", Preempt{"the end", 1'000});
  CHECK_FALSE(ordered<StopRound>("b").keep);
}

TEST_CASE_METHOD(InPlaceFixture, "all are stopped after changes behind which nobody came further") {
  int round = 1;
  const auto changes = [&] {
    stay(round, {"a", "b"});
    const bool stayed = stay_when_b_fails(round);
    both_stop(round);
    ++round;
    return stayed;
  };
  for (int i = 0; i < kChangesInPlaceMax; ++i) CHECK(changes());
  CHECK_FALSE(changes());
  says("a", Progress{round, {{.rank = 0, .step = 5}}});
  CHECK(changes());
}

TEST_CASE_METHOD(InPlaceFixture, "workers stay again behind a restart of all that sent them back") {
  int round = 1;
  const auto changes_at = [&](std::int64_t step) {
    stay(round, {"a", "b"});
    says("a", Progress{round, {{.rank = 0, .step = step}}});
    const bool stayed = stay_when_b_fails(round);
    both_stop(round);
    ++round;
    return stayed;
  };
  for (int i = 0; i <= kChangesInPlaceMax; ++i) CHECK(changes_at(100) == (i < kChangesInPlaceMax));
  for (int step = 50; step <= 50 + kChangesInPlaceMax; ++step) CHECK(changes_at(step));
}

TEST_CASE_METHOD(InPlaceFixture, "a step that only the lost worker has told is one further, too") {
  for (int round = 1; round <= 2 * kChangesInPlaceMax; ++round) {
    stay(round, {"a", "b"});
    CHECK(stay_when_b_fails(round));
    says("b", WorkersEnded{round, round, {}});
    both_stop(round);
  }
}

/// Two nodes with two workers each, in round 1, all of which can stay.
class SeatsFixture : public InPlaceFixture {
 protected:
  SeatsFixture() {
    job({.nodes_min = 1, .nodes_max = 2, .restarts_max = 9});
    for (const NodeId node : {"a", "b"}) says(node, join_of(node, 2));
    stay(1, {"a", "b"});
    for (const NodeId node : {"a", "b"}) REQUIRE(ordered<StartRound>(node).vacant.empty());
  }
  /// The round stops, and of each node these workers stay.
  void stop_with(int round, const std::string& of_a, const std::string& of_b) {
    says("a", WorkersStopped{round, {of_a}});
    says("b", WorkersStopped{round, {of_b}});
  }
  /// Rank 1 is lost in round 1, and round 2 goes on without it.
  void goes_on_without_rank_1() {
    says("a", failed(1, 1, {.signal = SIGKILL}));
    REQUIRE(ordered<StopRound>("a").keep);
    stop_with(1, "0", "0-1");
    stay(2, {"a", "b"});
  }
};

TEST_CASE_METHOD(SeatsFixture, "those that stay go on without who is lost, and wait for nobody") {
  goes_on_without_rank_1();
  const auto of_a = ordered<StartRound>("a");
  const auto of_b = ordered<StartRound>("b");
  CHECK(of_a.vacant == "1");
  CHECK(of_b.vacant.empty());
  CHECK(of_a.world_size == 3);
  CHECK(of_b.first_rank == 1);
  says("a", Prepared{});
  const auto stop = ordered<StopRound>("b");
  CHECK(stop.keep);
  CHECK(stop.attempt == 1);  // does not count as a restart
  stop_with(2, "0-1", "0-1");
  CHECK(ordered<StartRound>("a").vacant.empty());
  CHECK(ordered<StartRound>("b").first_rank == 2);
}

TEST_CASE_METHOD(SeatsFixture, "who has ended before it could come in starts again in the round") {
  goes_on_without_rank_1();
  says("a", Prepared{});
  stop_with(2, "0", "0-1");
  const auto start = ordered<StartRound>("a");
  CHECK(start.vacant.empty());
  CHECK(start.world_size == 4);
}

TEST_CASE_METHOD(SeatsFixture, "one is lost while another one's seat is vacant") {
  goes_on_without_rank_1();
  says("b", failed(2, 2, {.signal = SIGKILL}));
  stop_with(2, "0", "0");
  CHECK(ordered<StartRound>("a").vacant == "1");
  const auto of_b = ordered<StartRound>("b");
  CHECK(of_b.vacant == "1");
  CHECK(of_b.world_size == 2);
}

TEST_CASE("a rank behind a vacant seat is named by its local rank") {
  Seats seats;
  seats.resize(2);
  seats.take_back({.first_rank = 0, .vacant = "0"});
  CHECK(seats.local_ranks_in({0, 1}) == RankList{1});
}

TEST_CASE_METHOD(SeatsFixture, "nobody comes in where some have finished") {
  goes_on_without_rank_1();
  says("b", WorkersFinished{2});
  says("a", Prepared{});
  CHECK_FALSE(order<StopRound>("a").has_value());
}

TEST_CASE_METHOD(SeatsFixture, "who can come in waits until those of the round can stay") {
  goes_on_without_rank_1();
  says("b", WorkersStay{2, false});
  says("a", Prepared{});
  CHECK_FALSE(order<StopRound>("a").has_value());
  says("b", WorkersStay{2, true});
  CHECK(ordered<StopRound>("a").keep);
}

TEST_CASE_METHOD(SeatsFixture, "a failure whose cause is awaited is not made good by newcomers") {
  goes_on_without_rank_1();
  says("b", failed(2, 2, {.code = 1}, Consequence::kConnectionClosed));
  says("a", Prepared{});
  CHECK_FALSE(order<StopRound>("a").has_value());
  passes_beating(kCausePatience, {"a", "b"});
  CHECK(ordered<StopRound>("a").attempt == 2);
}

TEST_CASE_METHOD(SeatsFixture, "a node of which nobody is left prepares, and joins again") {
  for (const int rank : {2, 3}) says("b", failed(1, rank, {.signal = SIGKILL}));
  stop_with(1, "0-1", "");
  CHECK(ordered<StartRound>("a").world_size == 2);
  CHECK_FALSE(order<StartRound>("b").has_value());
  CHECK(ordered<Prepare>("b").waits.round == 2);
  stay(2, {"a"});
  says("b", Prepared{});
  CHECK(ordered<StopRound>("a").keep);
}

/// Nodes a and b train, and there is a place for a third one, which has two workers.
class PrepareFixture : public InPlaceFixture {
 protected:
  PrepareFixture() {
    job({.terms = {.nodes_min = 2, .nodes_max = 3, .restarts_max = 9, .last_call_timeout = 1s},
         .master_addr = "h0",
         .master_port = 7});
    for (const NodeId node : {"a", "b"}) says(node, join_of(node));
    passes_beating(1s, {"a", "b"});
    REQUIRE(ordered<StartRound>("a").round == 1);
  }
};

TEST_CASE_METHOD(PrepareFixture, "a node that joins starts its workers before anybody leaves") {
  stay(1, {"a", "b"});
  joins("c", 2);
  const auto place = ordered<Prepare>("c").place;
  CHECK(place.round == 2);
  CHECK(place.first_rank == 2);
  CHECK(place.world_size == 4);
  CHECK(place.group_rank == 2);
  CHECK(place.group_world_size == 3);
  CHECK(place.master_port == 7);
  CHECK(machine_->status(now_, 0).nodes.back().state == NodeStatus::State::kStarting);
  CHECK_FALSE(order<StopRound>("a").has_value());
  says("c", Prepared{});
  CHECK(ordered<StopRound>("a").keep);
  says("c", Prepared{});  // once more changes nothing
  both_stop(1);
  CHECK(ordered<StartRound>("c").world_size == 4);
}

TEST_CASE_METHOD(PrepareFixture, "a node joins at once where workers cannot stay") {
  stay(1, {"a"});
  joins("c", 2);
  CHECK_FALSE(order<Prepare>("c").has_value());
  CHECK_FALSE(ordered<StopRound>("a").keep);
}

TEST_CASE_METHOD(PrepareFixture, "who prepares is not in a round that begins meanwhile") {
  stay(1, {"a", "b"});
  joins("c", 2);
  CHECK(ordered<Prepare>("c").waits.round == 1);
  says("b", failed(1, 1, {.code = 3}));
  both_stop(1);
  CHECK(ordered<StartRound>("a").world_size == 2);
  CHECK_FALSE(order<StartRound>("c").has_value());
  CHECK(ordered<Prepare>("c").waits.round == 2);
}

/// Nodes a and b have just entered round 2 from round 1, and cannot stay yet.
class EnterFixture : public PrepareFixture {
 protected:
  EnterFixture() {
    stay(1, {"a", "b"});
    REQUIRE(stay_when_b_fails(1));
    both_stop(1);
    REQUIRE(ordered<StartRound>("a").round == 2);
    joins("c", 2);
  }
};

TEST_CASE_METHOD(EnterFixture, "a node that joins while workers enter the round starts its own") {
  CHECK(ordered<Prepare>("c").waits.round == 2);
  CHECK_FALSE(order<StopRound>("a").has_value());
}

TEST_CASE_METHOD(EnterFixture, "a node that is prepared waits until the workers can stay again") {
  says("c", Prepared{});
  CHECK_FALSE(order<StopRound>("a").has_value());
  stay(2, {"a", "b"});
  const auto stop = ordered<StopRound>("a");
  CHECK(stop.round == 2);
  CHECK(stop.keep);
}

TEST_CASE_METHOD(EnterFixture, "a node that is prepared does not wait for ever") {
  says("c", Prepared{});
  passes_beating(kJoinPatience - 1ms, {"a", "b", "c"});
  CHECK_FALSE(order<StopRound>("a").has_value());
  passes(1ms);
  CHECK_FALSE(ordered<StopRound>("a").keep);
}

TEST_CASE_METHOD(EnterFixture, "once it was waited in vain, the next node joins at once") {
  says("c", Prepared{});
  is_lost("c");
  passes_beating(kJoinPatience, {"a", "b"});
  CHECK_FALSE(order<StopRound>("a").has_value());
  CHECK(machine_->next_tick() > now_);
  joins("d");
  says("d", Prepared{});
  CHECK_FALSE(ordered<StopRound>("a").keep);
}

TEST_CASE_METHOD(PrepareFixture,
                 "who prepares is in the next round where there are too few others") {
  stay(1, {"a", "b"});
  joins("c", 2);
  is_lost("b");
  says("a", WorkersStopped{1, {"0"}});
  CHECK(ordered<StartRound>("c").world_size == 3);
}

TEST_CASE_METHOD(PrepareFixture, "who connects again is asked again whether it is prepared") {
  stay(1, {"a", "b"});
  joins("c", 2);
  Join again = join_of("c", 2);
  again.incarnation = 2;
  says("c", again);
  CHECK(ordered<Prepare>("c").waits.round == 1);
  CHECK_FALSE(order<StopRound>("a").has_value());
}

TEST_CASE_METHOD(PrepareFixture,
                 "who joins with parked workers and is prepared fills all its seats") {
  stay(1, {"a", "b"});
  Join join = join_of("c", 2);
  join.parked = {"1"};
  says("c", join);
  CHECK(ordered<Prepare>("c").waits.round == 1);
  says("c", Prepared{});
  both_stop(1);
  const auto start = ordered<StartRound>("c");
  CHECK(start.vacant.empty());
  CHECK(start.world_size == 4);
}

TEST_CASE_METHOD(PrepareFixture, "who is prepared waits as a spare where its place was taken") {
  stay(1, {"a", "b"});
  joins("c", 2);
  joins("d");
  says("d", Prepared{});
  both_stop(1);
  CHECK(ordered<StartRound>("d").group_world_size == 3);
  CHECK(order<Spare>("c").has_value());
  says("c", Prepared{});
  CHECK(ordered<Spare>("c").round == 2);
}

}  // namespace
}  // namespace ddprun
