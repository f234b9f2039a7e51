// RoundFixture gives the tests of CoordinatorMachine their words: nodes do things, time passes, and
// the fixture remembers what was ordered.
#pragma once

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "rendezvous/leadership/extra_voter.hpp"
#include "rendezvous/leadership/first_place_start.hpp"
#include "rendezvous/rounds/coordinator_machine.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {

class RoundFixture {
 protected:
  void job(CoordinatorRules rules) {
    rules_ = rules;
    machine_.emplace(rules, now_);
  }
  void job(JobTerms terms) { job(CoordinatorRules{.terms = terms}); }
  Join join_of(const NodeId& node, int workers = 1, int node_rank = -1) const {
    return Join{.node = node,
                .host = node,
                .workers = workers,
                .node_rank = node_rank,
                .terms = rules_.terms};
  }
  void joins(const NodeId& node, int workers = 1, int node_rank = -1) {
    says(node, join_of(node, workers, node_rank));
  }
  /// As above, with an agent that knows every kind of message.
  void joins_knowing_all(const NodeId& node, int workers) {
    Join join = join_of(node, workers);
    says(node, join);
  }
  /// A Join comes over a new connection, all that follows over the node's last one.
  void says(const NodeId& node, const AgentMessage& message) {
    if (std::holds_alternative<Join>(message)) peers_[node] = ++last_peer_;
    const auto address = addresses_.find(node);
    step(FromPeer{peers_[node], message,
                  address == addresses_.end() ? "host-" + node : address->second});
  }
  /// A worker that ends so, as its agent tells and has judged it.
  static WorkerFailed failed(int round, int rank, ExitStatus status = {.code = 1},
                             Consequence consequence = Consequence::kNone) {
    WorkerFailed report{round, {.host = "h", .rank = rank, .status = status}};
    report.end = {.ranks = std::to_string(rank), .blame = Blame::kOwn, .status = status};
    report.end.consequence = consequence;
    if (consequence != Consequence::kNone) report.end.blame = Blame::kFollows;
    return report;
  }
  void fails(const NodeId& node, int round, int rank = 0) { says(node, failed(round, rank)); }
  void is_lost(const NodeId& node) { step(PeerLost{peers_[node], "connection closed"}); }
  void passes(std::chrono::milliseconds time) {
    const auto end = now_ + time;
    int ticks = 0;
    while (machine_->next_tick() && *machine_->next_tick() <= end) {
      now_ = *machine_->next_tick();
      step(Tick{});
      REQUIRE(++ticks <= 100 + time.count());  // more would keep a processor busy
    }
    now_ = end;
  }
  /// As above, while these nodes beat as agents do.
  void passes_beating(std::chrono::milliseconds time, const std::vector<NodeId>& nodes) {
    const auto interval = rules_.terms.heartbeat_timeout / 5;
    for (auto left = time; left.count() > 0; left -= interval) {
      passes(std::min<std::chrono::milliseconds>(left, interval));
      for (const NodeId& node : nodes) says(node, Beat{});
    }
  }

  /// The orders of a kind that the node got over its last connection, since the last call for them.
  template <typename Order>
  std::vector<Order> orders(const NodeId& node) {
    std::vector<Order> all;
    std::erase_if(sent_, [&](const SendTo& s) {
      const auto* found = s.peer == peers_[node] ? std::get_if<Order>(&s.message) : nullptr;
      if (found) all.push_back(*found);
      return found != nullptr;
    });
    return all;
  }
  /// The last one of them.
  template <typename Order>
  std::optional<Order> order(const NodeId& node) {
    const std::vector<Order> all = orders<Order>(node);
    return all.empty() ? std::nullopt : std::optional{all.back()};
  }
  /// As above, where the test cannot go on without one.
  template <typename Order>
  Order ordered(const NodeId& node) {
    const std::optional<Order> found = order<Order>(node);
    INFO("an order for node " << node);
    REQUIRE(found.has_value());
    return *found;
  }
  /// The last action of a kind, since the last call for it.
  template <typename Action>
  std::optional<Action> did() {
    std::optional<Action> last;
    std::erase_if(done_, [&](const CoordinatorAction& action) {
      const auto* found = std::get_if<Action>(&action);
      if (found) last = *found;
      return found != nullptr;
    });
    return last;
  }
  /// Long runs would become slow.
  void forget_what_was_done() {
    sent_.clear();
    dropped_.clear();
    done_.clear();
  }
  StartRound start(const NodeId& node) { return ordered<StartRound>(node); }
  bool dropped(PeerId peer) const { return std::ranges::count(dropped_, peer) > 0; }
  bool dropped(const NodeId& node) { return dropped(peers_[node]); }

  void step(const CoordinatorEvent& event) {
    for (const CoordinatorAction& action : machine_->step(event, now_)) {
      if (const auto* send = std::get_if<SendTo>(&action)) sent_.push_back(*send);
      if (const auto* drop = std::get_if<DropPeer>(&action)) dropped_.push_back(drop->peer);
      done_.push_back(action);
      if (const auto* open = std::get_if<OpenStore>(&action)) {
        ++stores_opened_;
        store_world_size_ = open->world_size;
      }
    }
  }

  std::optional<CoordinatorMachine> machine_;
  CoordinatorRules rules_;
  TimePoint now_{};
  int stores_opened_ = 0;
  int store_world_size_ = 0;                 // the last round's
  std::map<NodeId, std::string> addresses_;  // hosts that are not called host-NODE
  std::map<NodeId, PeerId> peers_;           // the last connection of each node
  PeerId last_peer_ = 0;

 private:
  std::vector<SendTo> sent_;
  std::vector<PeerId> dropped_;
  std::vector<CoordinatorAction> done_;
};

}  // namespace ddprun
