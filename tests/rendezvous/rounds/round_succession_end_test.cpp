// CoordinatorMachine at a job's end: who has to know of it, and what a successor makes of it.
#include "tests/rendezvous/rounds/succession_fixture.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;

TEST_CASE_METHOD(SuccessionFixture, "nobody leaves before all have heard that the job has ended") {
  coordinates({"a", "b", "c"});
  for (const char* node : {"a", "b", "c"}) says(node, WorkersFinished{1});
  for (const char* node : {"a", "b", "c"}) CHECK(ordered<EndJob>(node).held);
  says("a", EndAcknowledged{});
  says("a", EndAcknowledged{});
  says("b", EndAcknowledged{});
  CHECK_FALSE(order<Dismiss>("a").has_value());
  CHECK_FALSE(machine_->ended());
  says("c", EndAcknowledged{});
  for (const char* node : {"a", "b", "c"}) CHECK(order<Dismiss>(node).has_value());
  CHECK(machine_->ended());
}

TEST_CASE_METHOD(SuccessionFixture, "a job does not end while its nodes may be somewhere else") {
  coordinates({"a", "b", "c"});
  for (const char* node : {"a", "b"}) says(node, WorkersFinished{1});
  is_lost("b");
  says("c", WorkersFinished{1});
  CHECK_FALSE(order<EndJob>("a").has_value());
  step(Probed{"b", true});
  CHECK(order<EndJob>("a").has_value());
}

TEST_CASE_METHOD(SuccessionFixture, "nobody waits for a node that is lost at the job's end") {
  coordinates({"a", "b", "c"});
  for (const char* node : {"a", "b", "c"}) says(node, WorkersFinished{1});
  for (const char* node : {"a", "b"}) says(node, EndAcknowledged{});
  is_lost("c");
  CHECK(order<Dismiss>("a").has_value());
}

TEST_CASE_METHOD(SuccessionFixture,
                 "a node that does not answer delays the job's end by a second") {
  coordinates({"a", "b", "c"});
  for (const char* node : {"a", "b", "c"}) says(node, WorkersFinished{1});
  passes(kEndingPatience - 1ms);
  CHECK_FALSE(order<Dismiss>("a").has_value());
  passes(1ms);
  CHECK(order<Dismiss>("a").has_value());
}

TEST_CASE_METHOD(SuccessionFixture, "a successor ends the job as the one before it had") {
  stands_by();
  for (const char* node : {"a", "b"}) says(node, voter(node));
  says("b", FinalStatus{{.outcome = EndJob::Outcome::kFinished, .restarts = 2}});
  for (const char* node : {"a", "b"}) promises(node);
  const EndJob end = ordered<EndJob>("a");
  CHECK(end.outcome == EndJob::Outcome::kFinished);
  CHECK(end.restarts == 2);
  CHECK(end.held);
  CHECK_FALSE(order<StartRound>("a").has_value());
}

TEST_CASE_METHOD(SuccessionFixture, "so it does when it hears of that before its first round") {
  stands_by();
  for (const char* node : {"a", "b", "c"}) {
    Join join = voter(node);
    join.voter.old_lease_ms = 4'000;
    says(node, join);
  }
  for (const char* node : {"a", "b"}) promises(node);
  says("c", FinalStatus{{.outcome = EndJob::Outcome::kPreempted}});
  CHECK(ordered<EndJob>("a").outcome == EndJob::Outcome::kPreempted);
}

TEST_CASE_METHOD(SuccessionFixture, "the end of an earlier round is of no account") {
  stands_by();
  Join late = voter("c");
  late.voter.proposed = late.voter.committed = {{1, 3}, 3, true};
  says("c", late);
  says("c", FinalStatus{{.outcome = EndJob::Outcome::kFinished}});
  for (const char* node : {"a", "b"}) says(node, survivor(node));
  for (const char* node : {"a", "b", "c"}) promises(node);
  passes_hearing(6s, {"a", "b", "c"});
  CHECK_FALSE(order<EndJob>("a").has_value());
  CHECK(order<StartRound>("a").has_value());
}

TEST_CASE_METHOD(SuccessionFixture, "on the smaller side of a cut the job has not ended") {
  coordinates({"a", "b", "c"});
  passes_hearing(4s, {"a"});
  fails("a", 1);
  says("a", WorkersStopped{1});
  passes_hearing(30s, {"a"});
  CHECK_FALSE(order<EndJob>("a").has_value());
}

}  // namespace
}  // namespace ddprun
