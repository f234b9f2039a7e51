#include "rendezvous/leadership/follower.hpp"

#include "tests/rendezvous/leadership/start.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

// Gives the tests a node of a round of four, which the leader of the epoch 3 has begun with its own
// node as rank 1.
class FollowerFixture {
 protected:
  FollowerFixture() {
    follower_.follow(Joined{.epoch = 3}, "h1:1");
    follower_.hear(StartRound{
        .round = 2, .group_rank = 2, .group_world_size = 4, .epoch = 3, .leader_rank = 1});
  }
  VoterState told() const { return follower_.told(kStart); }

  Follower follower_;
};

TEST_CASE_METHOD(FollowerFixture, "the leader's own node is gone with its process") {
  CHECK(told().leader_is_member);
  follower_.find_leader_gone(true);
  CHECK(told().leader_dead);
  CHECK(told().dead_ranks == "1");
}

TEST_CASE_METHOD(FollowerFixture, "who is gone in one round is forgotten with the next one") {
  follower_.find_member_gone(3);
  follower_.find_member_gone(0);
  CHECK(told().dead_ranks == "0,3");
  follower_.hear(StartRound{.round = 3, .group_world_size = 2, .epoch = 3});
  CHECK(told().dead_ranks.empty());
}

TEST_CASE_METHOD(FollowerFixture, "a spare knows no rank of the leader's node") {
  follower_.hear(Spare{.round = 3, .nodes = 3, .epoch = 3});
  CHECK_FALSE(told().leader_is_member);
  follower_.find_leader_gone(true);
  CHECK(told().leader_dead);
  CHECK(told().dead_ranks.empty());
}

TEST_CASE_METHOD(FollowerFixture,
                 "a spare that votes, and joins again, keeps the vote that it was given") {
  const Spare waits{.round = 3, .nodes = 2, .epoch = 3};
  follower_.hear(waits);
  const Configuration with_it{{3, 3, 1}, 3, true, 2};
  follower_.hear(Reconfigure{.round = with_it, .spare_votes = true});
  CHECK(told().proposed == with_it);
  follower_.hear(waits);
  CHECK(told().proposed == with_it);
  Spare again = waits;
  again.committed = {{3, 3, 1}, 3};
  follower_.hear(again);
  CHECK(told().committed == with_it);
}

TEST_CASE_METHOD(FollowerFixture, "a spare that gets a place was no member of the round before") {
  follower_.hear(Spare{.round = 3, .nodes = 3, .epoch = 3});
  StartRound with_it{.round = 4, .group_rank = 1, .group_world_size = 3, .epoch = 3};
  with_it.committed = {{3, 3}, 3};
  follower_.hear(with_it);
  CHECK(told().proposed.member);
  CHECK(told().committed.version == ConfigurationVersion{3, 3});
  CHECK_FALSE(told().committed.member);
}

TEST_CASE_METHOD(FollowerFixture,
                 "a leader that has begun no round yet has no rank in that of before") {
  follower_.follow(Joined{.epoch = 4}, "h2:1");
  follower_.find_leader_gone(true);
  CHECK(told().leader_dead);
  CHECK(told().dead_ranks.empty());
}

TEST_CASE_METHOD(FollowerFixture, "a list of ranks that is too long is not told") {
  for (int rank = 0; rank < 1'000; rank += 2) follower_.find_member_gone(rank);
  CHECK(told().dead_ranks.empty());
}

TEST_CASE_METHOD(FollowerFixture, "a leader's own node may be the first one of its round") {
  follower_.hear(
      StartRound{.round = 3, .group_rank = 2, .group_world_size = 4, .epoch = 3, .leader_rank = 0});
  CHECK(told().leader_is_member);
  follower_.find_leader_gone(true);
  CHECK(told().dead_ranks == "0");
}

TEST_CASE_METHOD(FollowerFixture,
                 "a node that has followed a leader accepts none without an epoch") {
  CHECK_FALSE(follower_.accepts(Joined{.epoch = 0}));
  CHECK(Follower{}.accepts(Joined{.epoch = 0}));
}

TEST_CASE("no node remembers a round of a leader that nobody can follow") {
  Follower node;
  node.hear(Spare{.round = 3, .nodes = 2});
  CHECK(node.told(kStart).proposed == Configuration{});
  node.hear(StartRound{.round = 4, .group_world_size = 2});
  CHECK(node.told(kStart).proposed == Configuration{});
}

}  // namespace
}  // namespace ddprun
