// CoordinatorMachine where etcd decides who coordinates the job, and for how long.
#include "tests/rendezvous/rounds/round_fixture.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;

class EtcdFixture : protected RoundFixture {
 protected:
  EtcdFixture() { now_ += 1h; }  // a clock that says 0 has said nothing

  void job_of(int nodes_min, int nodes_max) {
    job({.nodes_min = nodes_min,
         .nodes_max = nodes_max,
         .last_call_timeout = 0ms,
         .leadership = LeadershipRules::Kind::kEtcd});
  }
  void is_elected(ElectedByEtcd how) {
    hears(how);
    holds();
  }
  void holds(std::chrono::milliseconds alone = 4'500ms) {
    hears(LeaseHeld{now_ + alone, now_ + 100s});
  }
  void hears(const CoordinatorEvent& said) {
    for (const CoordinatorAction& action : machine_->step(said, now_)) note(action);
  }
  /// Says it, and keeps what etcd is asked.
  void tells(const NodeId& node, const AgentMessage& message) {
    if (std::holds_alternative<Join>(message)) peers_[node] = ++last_peer_;
    hears(FromPeer{peers_[node], message, "host-" + node});
  }
  void note(const CoordinatorAction& action) {
    if (const auto* begin = std::get_if<WriteMembers>(&action)) asked_ = begin->nodes;
    if (const auto* end = std::get_if<PublishVerdict>(&action)) verdict_ = end->verdict;
    if (const auto* send = std::get_if<SendTo>(&action)) got_[send->peer].push_back(send->message);
  }
  template <typename Order>
  std::optional<Order> got(const NodeId& node) {
    std::optional<Order> last;
    for (const CoordinatorMessage& message : got_[peers_[node]])
      if (const auto* found = std::get_if<Order>(&message)) last = *found;
    return last;
  }
  void forget() { got_.clear(); }
  Join newcomer(const NodeId& node) const {
    Join join = join_of(node);
    join.voter.standby_port = 7;
    return join;
  }
  /// A member of the first round that has connected again, and promised that epoch.
  Join member_again(const NodeId& node, std::int64_t promised) const {
    Join join = newcomer(node);
    join.incarnation = 2;
    join.counters.round = 1;
    join.voter.epoch = 5;
    join.voter.promised = promised;
    join.voter.proposed = join.voter.committed = {{5, 1}, 2, true};
    return join;
  }
  /// A member under the coordinator with that epoch, which is lost.
  Join of_members(const NodeId& node, std::int64_t epoch, std::int64_t old_lease_ms = 0) const {
    Join join = newcomer(node);
    join.counters = {.round = 4, .attempt = 0};
    join.voter.epoch = join.voter.promised = epoch;
    join.voter.proposed = join.voter.committed = {{epoch, 4}, 3, true};
    join.voter.old_lease_ms = old_lease_ms;
    return join;
  }
  void passes_by(std::chrono::milliseconds time) {
    const auto end = now_ + time;
    while (machine_->next_tick() && *machine_->next_tick() <= end) {
      now_ = std::max(now_, *machine_->next_tick());
      hears(Tick{});
    }
    now_ = end;
  }
  void writes_members() {
    REQUIRE(asked_);
    hears(MembersWritten{*asked_});
  }
  void beats(const NodeId& node) {
    tells(node, Beat{.clock_us = microseconds(now_), .echo_us = microseconds(now_)});
  }

  std::optional<std::vector<NodeId>> asked_;
  std::optional<EndJob> verdict_;
  std::map<PeerId, std::vector<CoordinatorMessage>> got_;
};

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
  tells("a", member_again("a", 5));
  CHECK(got<EndJob>("a")->held);
  tells("b", EndAcknowledged{});
  CHECK_FALSE(got<Dismiss>("a"));
  tells("a", EndAcknowledged{});
  CHECK(got<Dismiss>("a"));
}

TEST_CASE_METHOD(EndedMembers, "nobody waits for ever for an etcd that does not answer") {
  hears(PeerLost{peers_["b"], "reset"});
  waits(kUntoldEndPatience);
  CHECK(got<Dismiss>("a"));
}

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
  job({.nodes_min = 1,
       .nodes_max = 1,
       .restarts_max = 2,
       .last_call_timeout = 0ms,
       .leadership = LeadershipRules::Kind::kEtcd});
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
