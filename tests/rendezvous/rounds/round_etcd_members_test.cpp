// CoordinatorMachine where etcd decides who coordinates the job: what it makes of members that
// another coordinator has written down.
#include "tests/rendezvous/rounds/etcd_fixture.hpp"

namespace ddprun {
namespace {

TEST_CASE_METHOD(EtcdFixture, "who is chosen needs a node of the members before it") {
  job_of(1, 3);
  is_elected({9, 5, {"a", "b"}});
  tells("c", newcomer("c"));
  for (int i = 0; i < 30; ++i) {
    passes_by(1s);
    holds();
    beats("c");
  }
  CHECK_FALSE(asked_);
  tells("a", of_members("a", 5));
  passes_by(200ms);
  REQUIRE(asked_);
  CHECK(*asked_ == std::vector<NodeId>{"a", "c"});
}

TEST_CASE_METHOD(EtcdFixture,
                 "what that node knows of attempts counts, though others have its place") {
  job({.terms = {.nodes_min = 1, .nodes_max = 1, .restarts_max = 2, .last_call_timeout = 0ms},
       .leadership = LeadershipKind::kEtcd});
  is_elected({9, 5, {"a", "b"}});
  tells("c", newcomer("c"));
  Join member = of_members("a", 5);
  member.counters.attempt = 2;
  tells("a", member);
  passes_by(200ms);
  CHECK(*asked_ == std::vector<NodeId>{"c"});
  writes_members();
  passes_by(10ms);
  REQUIRE(got<StartRound>("c"));
  CHECK(got<StartRound>("c")->round == 5);
  CHECK(got<StartRound>("c")->attempt == 2);
}

TEST_CASE_METHOD(EtcdFixture, "a member that was lost before its round began counts its attempt") {
  job({.terms = {.nodes_min = 1, .nodes_max = 2, .restarts_max = 2, .last_call_timeout = 0ms},
       .leadership = LeadershipKind::kEtcd});
  is_elected({.epoch = 9, .members_epoch = 5, .members = {"a", "b"}, .attempt = 2});
  tells("a", of_members("a", 5));
  passes_by(200ms);
  REQUIRE(asked_);
  CHECK(attempt_ == 2);
  writes_members();
  passes_by(10ms);
  REQUIRE(got<StartRound>("a"));
  CHECK(got<StartRound>("a")->attempt == 2);
}

TEST_CASE_METHOD(EtcdFixture, "or that etcd has forgotten those members") {
  job_of(1, 3);
  is_elected({9, 5, {"a", "b"}});
  tells("c", newcomer("c"));
  passes_by(1s);
  CHECK_FALSE(asked_);
  hears(MembersExpired{});
  passes_by(1ms);
  CHECK(asked_);
}

TEST_CASE_METHOD(EtcdFixture, "and waits until the one before cannot count on that any more") {
  job_of(1, 2);
  is_elected({9, 5, {"a", "b"}});
  tells("a", of_members("a", 5, 2'000));
  passes_by(1'900ms);
  CHECK_FALSE(asked_);
  passes_by(200ms);
  CHECK(asked_);
}

TEST_CASE_METHOD(EtcdFixture, "of two nodes one alone waits for the lease of a dead coordinator") {
  job_of(1, 2);
  is_elected({9, 5, {"a", "b"}, true});
  Join join = of_members("a", 5);
  join.voter.leader_dead = join.voter.leader_is_member = true;
  tells("a", join);
  passes_by(4'000ms);
  CHECK_FALSE(asked_);
  holds();
  beats("a");
  passes_by(1'200ms);
  CHECK(asked_);
}

TEST_CASE_METHOD(EtcdFixture, "two of three that know that it is dead go on at once") {
  job_of(2, 3);
  is_elected({9, 5, {"a", "b", "c"}, true});
  for (const char* node : {"a", "b"}) {
    Join join = of_members(node, 5, 5'000);
    join.voter.leader_dead = join.voter.leader_is_member = true;
    tells(node, join);
  }
  passes_by(50ms);
  REQUIRE(asked_);
  writes_members();
  passes_by(50ms);
  CHECK(got<StartRound>("a")->round == 5);
}

TEST_CASE_METHOD(EtcdFixture,
                 "that another one is dead than who has written down the members says nothing") {
  job_of(2, 3);
  is_elected({9, 5, {"a", "b", "c"}, true});
  for (const char* node : {"a", "b"}) {
    Join join = of_members(node, 5, 5'000);
    join.voter.epoch = join.voter.promised = 7;
    join.voter.leader_dead = join.voter.leader_is_member = true;
    tells(node, join);
  }
  passes_by(1s);
  CHECK_FALSE(asked_);
}

TEST_CASE_METHOD(EtcdFixture, "who is chosen after the end tells how it was") {
  job_of(1, 2);
  EndJob end{EndJob::Outcome::kFinished, 0, "", {}};
  is_elected({.epoch = 9, .members_epoch = 5, .verdict = end});
  tells("a", of_members("a", 5));
  CHECK(got<EndJob>("a"));
}

}  // namespace
}  // namespace ddprun
