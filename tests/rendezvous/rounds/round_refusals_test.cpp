// What CoordinatorMachine does not let a node do: end a job that it is not part of, hold it up by
// not stopping, or fill the coordinator's memory.
#include "tests/rendezvous/rounds/round_fixture.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;

TEST_CASE_METHOD(RoundFixture, "a spare cannot end the job") {
  job({.nodes_min = 1, .nodes_max = 1, .restarts_max = 1});
  joins("a");
  joins("spare");
  says("spare", Preempt{"I say so", 60'000});
  CHECK_FALSE(order<StopRound>("a").has_value());
  fails("a", 1);
  says("spare", Preempt{"I say so", 60'000});
  says("a", WorkersStopped{1});
  CHECK(start("a").round == 2);
}

TEST_CASE_METHOD(RoundFixture, "what is announced to a spare ends the job when it is needed") {
  job({.nodes_min = 2, .nodes_max = 2});
  joins("a");
  joins("b");
  joins("spare");
  is_lost("a");
  says("b", WorkersStopped{1});
  CHECK(start("b").round == 2);
  joins("late");
  is_lost("spare");
  says("late", Preempt{"I say so", 60'000});
  says("b", WorkersStopped{2});
  // It is the only one left to take the place, so what was announced to it holds for the job.
  CHECK(ordered<EndJob>("b").outcome == EndJob::Outcome::kPreempted);
}

TEST_CASE_METHOD(RoundFixture, "a spare that is about to go is the last to get a place") {
  job({.nodes_min = 1, .nodes_max = 1});
  joins("a");
  joins("going");
  joins("staying");
  says("going", Preempt{"SIGUSR1", 60'000});
  is_lost("a");
  CHECK(start("staying").round == 2);
  CHECK_FALSE(machine_->ended());
}

TEST_CASE_METHOD(RoundFixture, "a member that stops may announce the end") {
  job({.nodes_min = 2, .nodes_max = 2, .restarts_max = 1});
  joins("a");
  joins("b");
  fails("a", 1);
  says("a", WorkersStopped{1});
  says("a", Preempt{"SIGUSR1", 60'000});
  says("b", WorkersStopped{1});
  CHECK(ordered<EndJob>("b").outcome == EndJob::Outcome::kPreempted);
}

// --- stopping has an end ---

class StoppingFixture : public RoundFixture {
 protected:
  void two_run(std::chrono::milliseconds shutdown_of_b) {
    job({.nodes_min = 1, .nodes_max = 2, .restarts_max = 1});
    joins("a");
    Join join = join_of("b");
    join.terms.shutdown_timeout = shutdown_of_b;
    says("b", join);
    CHECK(start("b").round == 1);
  }
  std::chrono::milliseconds reserve() const {
    return stopping_reserve(machine_->rules().terms.heartbeat_timeout);
  }
};

TEST_CASE_METHOD(StoppingFixture, "a node that beats and does not stop is dropped in the end") {
  two_run(60s);
  fails("a", 1);
  says("a", WorkersStopped{1});
  passes_beating(60s + reserve() - 1s, {"a", "b"});
  CHECK_FALSE(dropped("b"));
  passes_beating(1s, {"a", "b"});
  CHECK(dropped("b"));
  CHECK(start("a").group_world_size == 1);
}

TEST_CASE_METHOD(StoppingFixture, "the time for a checkpoint comes before that for stopping") {
  two_run(30s);
  says("a", Preempt{"SIGUSR1", 100'000});
  says("a", WorkersStopped{1});
  passes_beating(100s + 30s + reserve() - 1s, {"a", "b"});
  CHECK_FALSE(dropped("b"));
  passes_beating(1s, {"a", "b"});
  CHECK(dropped("b"));
  CHECK(ordered<EndJob>("a").outcome == EndJob::Outcome::kPreempted);
}

TEST_CASE_METHOD(StoppingFixture, "the time that the coordinator slept is nobody's delay") {
  two_run(30s);
  fails("a", 1);
  now_ += 1h;
  says("a", WorkersStopped{1});
  passes_beating(30s + reserve() - 1s, {"a", "b"});
  CHECK_FALSE(dropped("b"));
  says("b", WorkersStopped{1});
  CHECK(start("b").round == 2);
}

// --- memory ---

TEST_CASE_METHOD(RoundFixture,
                 "a job takes as many spares as it has nodes, and some, and no more") {
  job({.nodes_min = 2, .nodes_max = 2});
  const int all = 4 + static_cast<int>(kSparesReserve);
  for (int i = 0; i < all; ++i) joins("n" + std::to_string(i));
  CHECK_FALSE(order<Refused>("n" + std::to_string(all - 1)).has_value());
  joins("one more");
  CHECK(ordered<Refused>("one more").reason ==
        "a job of at most 2 nodes has 20, spares among them, and takes no more of them");
  Join again = join_of("n7");
  again.incarnation = 2;
  says("n7", again);
  CHECK(order<Joined>("n7").has_value());
}

}  // namespace
}  // namespace ddprun
