// CoordinatorMachine where etcd decides who coordinates the job, and for how long.
#include "tests/rendezvous/rounds/etcd_fixture.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;

TEST_CASE_METHOD(EtcdFixture, "nobody is given orders before etcd has chosen this one") {
  job_of(1, 2);
  tells("a", newcomer("a"));
  CHECK(got<Candidate>("a"));
  CHECK_FALSE(got<Joined>("a"));
  is_elected({5});
  CHECK(got<Joined>("a")->epoch == 5);
}

TEST_CASE_METHOD(EtcdFixture, "a round begins once it is written down who has workers") {
  job_of(2, 2);
  is_elected({5});
  for (const char* node : {"b", "a"}) tells(node, newcomer(node));
  REQUIRE(asked_);
  CHECK(*asked_ == std::vector<NodeId>{"a", "b"});
  CHECK_FALSE(got<StartRound>("a"));
  writes_members();
  passes_by(10ms);
  CHECK(got<StartRound>("a")->epoch == 5);
  CHECK(got<StartRound>("b")->group_world_size == 2);
}

TEST_CASE_METHOD(EtcdFixture, "nothing begins for other nodes than those that are written down") {
  job_of(1, 2);
  is_elected({5});
  for (const char* node : {"a", "b"}) tells(node, newcomer(node));
  passes_by(10ms);
  const auto both = asked_;
  hears(PeerLost{peers_["b"], "gone"});
  passes_by(10ms);
  CHECK(*asked_ == std::vector<NodeId>{"a"});
  hears(MembersWritten{*both});
  passes_by(10ms);
  CHECK_FALSE(got<StartRound>("a"));
  writes_members();
  passes_by(10ms);
  CHECK(got<StartRound>("a")->group_world_size == 1);
}

TEST_CASE_METHOD(EtcdFixture, "without etcd no round begins with other nodes") {
  job_of(1, 2);
  is_elected({5});
  passes_by(5s);
  tells("a", newcomer("a"));
  CHECK_FALSE(asked_);
  holds();
  passes_by(1s);
  CHECK(asked_);
}

class RunningMembers : protected EtcdFixture {
 protected:
  RunningMembers() {
    job_of(1, 2);
    is_elected({5});
    for (const char* node : {"a", "b"}) tells(node, newcomer(node));
    passes_by(10ms);
    writes_members();
    passes_by(10ms);
    for (const char* node : {"a", "b"}) beats(node);
  }
};

TEST_CASE_METHOD(RunningMembers, "without etcd a round goes on while all of its nodes obey") {
  for (int i = 0; i < 60; ++i) {
    passes_by(1s);
    for (const char* node : {"a", "b"}) beats(node);
  }
  CHECK_FALSE(got<StopRound>("a"));
}

TEST_CASE_METHOD(RunningMembers,
                 "it stops at once when one of them does not, and the lease is over") {
  for (int i = 0; i < 4; ++i) {
    passes_by(1s);
    beats("a");
  }
  CHECK_FALSE(got<StopRound>("a"));
  passes_by(1'200ms);
  REQUIRE(got<StopRound>("a"));
  CHECK(got<StopRound>("a")->at_once);
}

TEST_CASE_METHOD(RunningMembers, "no workers' lease goes beyond what etcd has given") {
  for (int i = 0; i < 4; ++i) {
    passes_by(1s);
    beats("a");  // and b does not
  }
  CHECK(got<Beat>("a")->lease_ms <= 1'100);
}

TEST_CASE_METHOD(RunningMembers, "members are held without etcd for as long as it keeps them") {
  hears(LeaseHeld{now_, now_ + 3s});
  for (int i = 0; i < 4; ++i) {
    passes_by(1s);
    for (const char* node : {"a", "b"}) beats(node);
  }
  CHECK(got<StopRound>("a"));
}

TEST_CASE_METHOD(RunningMembers,
                 "a coordinator that is chosen again goes on, with a greater epoch") {
  is_elected({9, 5, {"a", "b"}});
  passes_by(1s);
  CHECK_FALSE(got<StopRound>("a"));
  CHECK(machine_->epoch() == 9);
}

TEST_CASE_METHOD(RunningMembers,
                 "it does not when somebody else has written down members meanwhile") {
  is_elected({9, 7, {"a"}});
  CHECK(got<Redirect>("a"));
  CHECK_FALSE(machine_->has_nodes());
}

TEST_CASE_METHOD(RunningMembers, "who is replaced sends its nodes to the other one") {
  hears(HigherEpoch{9, "h2:1"});
  CHECK(got<Redirect>("a")->coordinator == "h2:1");
  CHECK(machine_->epoch() == 0);
}

TEST_CASE_METHOD(RunningMembers, "the same nodes get their next attempt without etcd") {
  passes_by(1s);
  for (const char* node : {"a", "b"}) beats(node);
  hears(LeaseHeld{now_ - 1s, now_ + 60s});
  asked_.reset();
  forget();
  hears(PeerLost{peers_["b"], "reset"});
  tells("b", member_again("b", 5));
  tells("a", WorkersStopped{1});
  for (int i = 0; i < 3; ++i) {
    passes_by(100ms);
    for (const char* node : {"a", "b"}) beats(node);
  }
  CHECK_FALSE(asked_);
  CHECK(got<StartRound>("a")->round == 2);
}

TEST_CASE_METHOD(RunningMembers, "who leaves after it has obeyed another one has to follow yet") {
  tells("b", member_again("b", 9));
  tells("b", Leave{"stopped by SIGTERM"});
  hears(LeaseHeld{now_, now_ + 60s});
  passes_by(1s);
  forget();
  beats("a");
  CHECK(got<Beat>("a")->lease_ms == 0);
}

TEST_CASE_METHOD(RunningMembers, "etcd hears how the job has ended") {
  for (const char* node : {"a", "b"}) tells(node, WorkersFinished{1});
  REQUIRE(verdict_);
  CHECK(verdict_->outcome == EndJob::Outcome::kFinished);
}

TEST_CASE_METHOD(RunningMembers, "who was lost before the job's end has to find it in etcd") {
  tells("a", failed(1, 0));
  hears(PeerLost{peers_["b"], "reset"});
  hears(Probed{"b", true});
  tells("a", WorkersStopped{1});
  CHECK(got<EndJob>("a"));
  tells("a", EndAcknowledged{});
  CHECK_FALSE(got<Dismiss>("a"));
  hears(VerdictPublished{});
  CHECK(got<Dismiss>("a"));
}

class EndedMembers : protected RunningMembers {
 protected:
  EndedMembers() {
    for (const char* node : {"a", "b"}) tells(node, WorkersFinished{1});
    tells("a", EndAcknowledged{});
  }
  /// Node a says that it is alive, and stays until it is let go.
  void waits(std::chrono::milliseconds time) {
    for (auto waited = 0ms; waited < time; waited += 1s) {
      passes_by(1s);
      beats("a");
    }
  }
};

TEST_CASE_METHOD(EndedMembers,
                 "nobody goes before etcd or all members know how the job has ended") {
  hears(PeerLost{peers_["b"], "reset"});
  waits(20s);
  CHECK_FALSE(got<Dismiss>("a"));
  hears(VerdictPublished{});
  CHECK(got<Dismiss>("a"));
}

TEST_CASE_METHOD(EndedMembers, "when all members know it they need not wait for etcd") {
  tells("b", EndAcknowledged{});
  CHECK(got<Dismiss>("a"));
}

TEST_CASE_METHOD(EndedMembers, "who comes back meanwhile stays as well") {
  forget();
  tells("a", member_again("a", 5));
  CHECK(got<Joined>("a"));
  CHECK(got<EndJob>("a")->held);
  tells("b", EndAcknowledged{});
  CHECK_FALSE(got<Dismiss>("a"));
  tells("a", EndAcknowledged{});
  CHECK(got<Dismiss>("a"));
}

TEST_CASE_METHOD(EndedMembers, "a node that comes back after the job's end resumes nothing") {
  tells("a", member_again("a", 5));
  REQUIRE(got<Joined>("a"));
  CHECK_FALSE(got<Joined>("a")->resumed);
}

TEST_CASE_METHOD(EndedMembers, "nobody waits for ever for an etcd that does not answer") {
  hears(PeerLost{peers_["b"], "reset"});
  waits(kUntoldEndPatience);
  CHECK(got<Dismiss>("a"));
}

}  // namespace
}  // namespace ddprun
