#include "rendezvous/leadership/etcd_led.hpp"

#include <algorithm>

#include "tests/rendezvous/leadership/start.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;

constexpr auto kLeaseLeft = 5'000ms;

/// A node that has followed the leader of epoch 1, which may count on it for kLeaseLeft.
VoterState follower_of_old() {
  VoterState state{.epoch = 1, .promised = 1};
  state.old_lease_ms = kLeaseLeft.count();
  state.leader_dead = true;
  state.leader_is_member = true;
  return state;
}

// Gives the tests a leader that etcd has chosen, with epoch 2. Its predecessor has written down the
// nodes a to d, of which a may be its own.
class EtcdLedFixture {
 protected:
  explicit EtcdLedFixture(std::vector<NodeId> members = {"a", "b", "c", "d"})
      : members_{std::move(members)} {
    step(LeaseHeld{kStart + 1h, kStart + 1h});
    step(ElectedByEtcd{.epoch = 2, .members_epoch = 1, .members = members_});
  }

  LeadershipActions step(const LeadershipEvent& event, TimePoint now = kStart) {
    return led_.step(event, now);
  }
  void join(const NodeId& id, const VoterState& state = follower_of_old()) {
    step(VoterJoined{.node = id, .state = state});
  }
  /// Whether a round of b and c may be written down in place of the predecessor's members.
  bool may_write(TimePoint now = kStart) {
    const auto actions = step(RoundWanted{[] {
                                            return std::vector<NodeId>{"b", "c"};
                                          },
                                          [] { return 0; }},
                              now);
    return std::ranges::any_of(actions, [](const LeadershipAction& action) {
      return std::holds_alternative<WriteMembers>(action);
    });
  }

  std::vector<NodeId> members_;
  EtcdLed led_{{.terms = {.heartbeat_timeout = kTimeout}, .endpoint = "b:29400"}};
};

TEST_CASE_METHOD(EtcdLedFixture,
                 "etcd: all but a dead leader's own node show that no worker lives") {
  for (const char* node : {"b", "c", "d"}) join(node);
  CHECK(may_write());
}

TEST_CASE_METHOD(EtcdLedFixture,
                 "etcd: a leader that was no member excuses no node that is missing") {
  VoterState state = follower_of_old();
  state.leader_is_member = false;
  for (const char* node : {"b", "c", "d"}) join(node, state);
  CHECK_FALSE(may_write());
  CHECK_FALSE(may_write(kStart + kLeaseLeft - 1ms));
  CHECK(may_write(kStart + kLeaseLeft));
}

TEST_CASE_METHOD(EtcdLedFixture,
                 "etcd: a leader that was no member leaves nobody where all are here") {
  VoterState state = follower_of_old();
  state.leader_is_member = false;
  for (const char* node : {"a", "b", "c", "d"}) join(node, state);
  CHECK(may_write());
}

TEST_CASE_METHOD(EtcdLedFixture, "etcd: who has not seen the leader die may have workers of its") {
  join("b");
  join("c");
  VoterState state = follower_of_old();
  state.leader_dead = false;
  join("d", state);
  CHECK_FALSE(may_write());
}

TEST_CASE_METHOD(EtcdLedFixture,
                 "etcd: who has seen another leader die tells nothing of this one") {
  join("b");
  join("c");
  VoterState state = follower_of_old();
  state.epoch = 0;
  join("d", state);
  CHECK_FALSE(may_write());
}

TEST_CASE_METHOD(EtcdLedFixture, "etcd: a second node that is missing may go on with the leader") {
  join("b");
  join("c");
  CHECK_FALSE(may_write());
  CHECK(may_write(kStart + kLeaseLeft));
}

TEST_CASE_METHOD(EtcdLedFixture, "etcd: nobody begins anything without a node of the members") {
  join("e");
  join("f");
  CHECK_FALSE(may_write(kStart + 30min));
  step(MembersExpired{}, kStart + 30min);
  CHECK(may_write(kStart + 30min));
}

class TwoMembersFixture : public EtcdLedFixture {
 protected:
  TwoMembersFixture() : EtcdLedFixture{{"a", "b"}} {}
};

TEST_CASE_METHOD(TwoMembersFixture,
                 "etcd: of two nodes one cannot tell that the other one is dead") {
  join("b");
  CHECK_FALSE(may_write());
  CHECK(may_write(kStart + kLeaseLeft));
}

TEST_CASE_METHOD(EtcdLedFixture, "etcd: no members are written when the lease is over") {
  for (const char* node : {"b", "c", "d"}) join(node);
  CHECK_FALSE(may_write(kStart + 1h));
}

TEST_CASE_METHOD(EtcdLedFixture,
                 "etcd: the coordinator wakes when the leases of the one before are over") {
  join("b");
  join("c");
  CHECK(led_.next_tick() == kStart + kLeaseLeft);
  step(StepDone{}, kStart + kLeaseLeft);
  CHECK(led_.next_tick() == std::nullopt);
}

TEST_CASE_METHOD(EtcdLedFixture,
                 "etcd: a Join may be old, so it does not show that a node follows") {
  for (const char* node : {"b", "c"}) join(node);
  step(LeaseHeld{.alone = kStart, .members = kStart + 1h});
  led_.begin_round(1, {"b", "c"}, kStart);
  VoterState state{.epoch = 2, .promised = 2};
  state.proposed = state.committed = {{2, 1}, 2, true};
  const TimePoint later = kStart + kTimeout;
  for (const char* node : {"b", "c"}) step(VoterJoined{.node = node, .state = state}, later);
  CHECK_FALSE(led_.may(Permission::kEndJob, later));
  const TimePoint heard = later + 1ms;
  for (const char* node : {"b", "c"})
    step(VoterBeat{node, {.echo_us = microseconds(later)}}, heard);
  CHECK(led_.may(Permission::kEndJob, heard));
}

TEST_CASE_METHOD(EtcdLedFixture, "etcd: a member that is not here tells nothing of the job's end") {
  CHECK_FALSE(led_.knows_last_round("a"));
  VoterState state = follower_of_old();
  state.proposed.version = {1, 4};
  join("a", state);
  CHECK(led_.knows_last_round("a"));
}

TEST_CASE_METHOD(EtcdLedFixture,
                 "etcd: a node that left an earlier round for good excuses no other one later") {
  for (const char* node : {"b", "c", "d"}) join(node);
  step(LeaseHeld{.alone = kStart, .members = kStart + 1h});
  led_.begin_round(1, {"b", "c", "d"}, kStart);
  step(VoterLeft{.node = "d", .in_order = true});
  led_.begin_round(2, {"b", "c"}, kStart);
  CHECK(led_.may(Permission::kEndJob, kStart));
  step(VoterLeft{.node = "c"});
  CHECK_FALSE(led_.may(Permission::kEndJob, kStart));
}

}  // namespace
}  // namespace ddprun
