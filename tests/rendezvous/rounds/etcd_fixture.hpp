// EtcdFixture: a coordinator that an etcd chooses, and what it asks of that etcd.
#pragma once

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <vector>

#include "tests/rendezvous/rounds/round_fixture.hpp"

namespace ddprun {

using namespace std::chrono_literals;

class EtcdFixture : protected RoundFixture {
 protected:
  EtcdFixture() { now_ += 1h; }  // a clock that says 0 has said nothing

  void job_of(int nodes_min, int nodes_max) {
    job({.terms = {.nodes_min = nodes_min, .nodes_max = nodes_max, .last_call_timeout = 0ms},
         .leadership = LeadershipKind::kEtcd});
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
    if (const auto* begin = std::get_if<WriteMembers>(&action)) {
      asked_ = begin->nodes;
      attempt_ = begin->attempt;
    }
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
  int attempt_ = 0;  // that is to be written beside these
  std::optional<EndJob> verdict_;
  std::map<PeerId, std::vector<CoordinatorMessage>> got_;
};

}  // namespace ddprun
