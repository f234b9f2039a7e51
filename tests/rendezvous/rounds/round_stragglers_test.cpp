// What CoordinatorMachine does when a rank holds up the others: whom it tells, and what a status
// shows.
#include "tests/rendezvous/rounds/round_fixture.hpp"
#include "tests/rendezvous/watch/training_model.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;

/// Two nodes with two workers each. Rank 3, which is on node b, is slow for so long as it is to be.
class StragglerFixture : public RoundFixture {
 protected:
  StragglerFixture() {
    job({.nodes_min = 2, .nodes_max = 2});
    for (const NodeId node : {"a", "b"}) {
      Join join = join_of(node, 2);
      says(node, join);
    }
  }
  /// All train for four seconds, and then tell.
  void look(const std::optional<StrainRates>& strain = {}) {
    training_.train(40);
    passes_beating(5s, {"a", "b"});
    for (int rank = 0; rank < 4; ++rank)
      says(rank < 2 ? "a" : "b",
           Arrivals{1, rank, training_.now_us(), {training_.told(rank)}, strain});
  }

  JobStatus status() const { return machine_->status(now_, 0); }

  std::int64_t longer_us_ = 25'000;
  TrainingModel training_{4,
                          [this](int rank, int) { return 97'000 + (rank == 3 ? longer_us_ : 0); }};
};

TEST_CASE_METHOD(StragglerFixture, "every node learns which rank holds up the others") {
  look();
  CHECK_FALSE(order<StragglerFound>("a"));
  look();
  const auto found = ordered<StragglerFound>("a");
  CHECK(found.straggler.ranks == "3");
  CHECK(found.straggler.node == "b");
  CHECK(found.straggler.sentence ==
        "rank 3 (b) makes the others wait 20 % of the time: it is 25 ms late in each step of 125 "
        "ms; no cause was found");
  CHECK(ordered<StragglerFound>("b") == found);
  CHECK(status().summary.straggler->sentence == found.straggler.sentence);
  CHECK(status().ranks.at(3).late_percent == 20);
  CHECK(status().ranks.at(0).late_percent == 0);
}

TEST_CASE_METHOD(StragglerFixture, "where a slow rank sleeps is looked at before it is reported") {
  look();
  CHECK_FALSE(order<Inspect>("a"));
  for (int i = 0; i < kSleepLooks; ++i) {
    const auto question = ordered<Inspect>("b");
    CHECK(question.sample);
    CHECK(question.first == "3");
    says("b", Inspected{question.inspection,
                        {.ranks = "3", .doing = i < 4 ? "sleeps at load (train.py:7)" : ""},
                        true});
    passes_beating(kSleepPause + i * kSleepPauseGrows, {"a", "b"});
  }
  CHECK_FALSE(order<Inspect>("b"));
  look(StrainRates{.cpus = 2, .ran = 0.2});
  CHECK_THAT(ordered<StragglerFound>("a").straggler.why,
             contains("in 4 of 10 looks it sleeps at load (train.py:7)"));
}

TEST_CASE_METHOD(StragglerFixture, "every node learns when that rank is as fast as the others") {
  look();
  look();
  longer_us_ = 0;
  look();
  look();
  CHECK(ordered<StragglerOver>("b").ranks == "3");
  CHECK_FALSE(status().summary.straggler.has_value());
}

TEST_CASE_METHOD(StragglerFixture,
                 "a node does not speak for the ranks of others, or of other rounds") {
  for (int i = 0; i < 4; ++i) {
    training_.train(40);
    passes_beating(5s, {"a", "b"});
    for (int rank = 0; rank < 4; ++rank)
      says("a", Arrivals{1, rank, training_.now_us(), {training_.told(rank)}});
    for (int rank = 2; rank < 4; ++rank)
      says("b", Arrivals{2, rank, training_.now_us(), {training_.told(rank)}});
  }
  CHECK_FALSE(status().summary.straggler.has_value());
}

}  // namespace
}  // namespace ddprun
