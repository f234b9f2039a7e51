// A CoordinatorMachine of a job whose coordinator is lost, or that has followed one.
#pragma once

#include <algorithm>
#include <chrono>
#include <string>
#include <variant>
#include <vector>

#include "tests/rendezvous/rounds/round_fixture.hpp"

namespace ddprun {

using namespace std::chrono_literals;

class SuccessionFixture : protected RoundFixture {
 protected:
  static constexpr auto kHeartbeat = 5s;
  static constexpr ConfigurationVersion kLast{1, 4};

  SuccessionFixture() { now_ += 1h; }  // a clock that says 0 has said nothing

  /// What waits for the case that the coordinator of a job of three nodes is lost.
  void stands_by() {
    job({.terms = {.nodes_min = 1, .nodes_max = 3, .restarts_max = 3},
         .leadership = LeadershipKind::kElected,
         .begins = Begins::kStandingBy});
  }
  /// A coordinator with these nodes in its first round, which has settled.
  void coordinates(const std::vector<NodeId>& nodes) {
    const int count = static_cast<int>(nodes.size());
    job({.terms = {.nodes_min = 1, .nodes_max = count},
         .leadership = LeadershipKind::kElected,
         .endpoint = "h0:1"});
    for (const NodeId& node : nodes) {
      Join join = join_of(node);
      join.voter.standby_port = 7;
      says(node, join);
    }
    for (const NodeId& node : nodes) hears(node);
    for (const NodeId& node : nodes) says(node, WorkersStarted{1});
  }
  /// The node beats, and has heard what was said until now.
  void hears(const NodeId& node) {
    says(
        node,
        Beat{
            .clock_us = microseconds(now_), .echo_us = microseconds(now_), .round = 1, .epoch = 1});
  }
  void passes_hearing(std::chrono::milliseconds time, const std::vector<NodeId>& nodes) {
    for (auto left = time; left > 0ms; left -= 500ms) {
      passes(500ms);
      for (const NodeId& node : nodes) hears(node);
    }
  }
  /// A node of the last round of three, whose coordinator is lost.
  Join voter(const NodeId& node) const {
    Join join = join_of(node);
    join.counters = {.round = 4, .attempt = 2};
    const Configuration last{kLast, 3, true};
    join.voter = {.epoch = 1, .promised = 1, .proposed = last, .committed = last};
    join.voter.leader = "h0:1";
    return join;
  }
  /// Such a node, which has found that its leader, of rank 0, is gone.
  Join survivor(const NodeId& node) const {
    Join join = voter(node);
    join.voter.leader_dead = true;
    join.voter.dead_ranks = "0";
    return join;
  }
  void promises(const NodeId& node) {
    const RequestVote elect = ordered<RequestVote>(node);
    says(node, Vote{elect.epoch, elect.clock_us});
  }
  void step_and_keep(const CoordinatorEvent& event) { last_actions_ = machine_->step(event, now_); }
  /// Whom the machine tells of itself when the node has promised.
  std::vector<std::string> announces_to(const NodeId& promises) {
    const RequestVote elect = ordered<RequestVote>(promises);
    step_and_keep(FromPeer{peers_[promises], Vote{elect.epoch, elect.clock_us}});
    const auto herald = std::ranges::find_if(last_actions_, [](const CoordinatorAction& a) {
      return std::holds_alternative<AnnounceLeader>(a);
    });
    return herald == last_actions_.end() ? std::vector<std::string>{}
                                         : std::get<AnnounceLeader>(*herald).endpoints;
  }

  std::vector<CoordinatorAction> last_actions_;
};

}  // namespace ddprun
