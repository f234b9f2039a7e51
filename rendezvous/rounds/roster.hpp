// Roster: the nodes of a job, as RoundMachine keeps them.
//
// Every message asks who its node is, how many nodes are still stopping, and who has been silent
// for longest. The answers take no longer with ten thousand nodes than with ten.
#pragma once

#include <array>
#include <chrono>
#include <list>
#include <map>
#include <string>

#include "base/clock.hpp"
#include "rendezvous/wire/messages.hpp"

namespace ddprun {

class Roster {
 public:
  /// A node's phase says what it is doing, as far as its messages tell.
  enum class Phase {
    kReady,     // no workers, waiting for a round
    kRunning,   // its workers run
    kFinished,  // its workers have all ended well
    kStopping,  // it was told to stop its workers, and has not answered
  };

  class Node {
   public:
    const NodeId& id() const { return join.node; }
    Phase phase() const { return phase_; }
    TimePoint last_heard() const { return last_heard_; }

    Join join;            // what it said of itself
    int arrival = 0;      // how many nodes came before it
    int group_rank = -1;  // in the last round that it was part of; -1: none

   private:
    friend Roster;
    Phase phase_ = Phase::kReady;
    TimePoint last_heard_;
    std::list<Node*>::iterator place_;  // in by_silence_
  };

  /// Adds a node that is ready and was heard at `now`. No node of that id may be there.
  void add(Join join, int arrival, TimePoint now);
  void remove(Node& node);

  /// Returns the node of that id; nullptr when it is not there.
  Node* find(const NodeId& id);
  /// Returns the node that has asked for `rank`; nullptr when none has.
  const Node* with_wanted_rank(int rank) const;

  bool empty() const { return nodes_.empty(); }
  int count(Phase phase) const { return counts_[static_cast<std::size_t>(phase)]; }
  void set_phase(Node& node, Phase phase);

  /// Notes that `node` was heard at `now`, which never goes back from one call to the next.
  void heard(Node& node, TimePoint now);
  /// Notes the same of every node.
  void all_heard(TimePoint now);
  /// Returns the node that was heard longest ago. The roster must not be empty.
  Node& most_silent() { return *by_silence_.front(); }
  const Node& most_silent() const { return *by_silence_.front(); }

  /// Calls `visit` with every node, in the order of their ids.
  template <typename Visit>
  void for_each(Visit visit) {
    for (auto& [id, node] : nodes_) visit(node);
  }

 private:
  int& counter(Phase phase) { return counts_[static_cast<std::size_t>(phase)]; }

  std::map<NodeId, Node> nodes_;
  std::map<int, Node*> by_wanted_rank_;
  std::list<Node*> by_silence_;  // the node that was heard last is last
  std::array<int, 4> counts_{};  // by phase
};

}  // namespace ddprun
