// Roster: the nodes of a job, as RoundMachine keeps them. What every message asks of it (who is
// that, how many are still stopping, who has been silent for longest) takes no longer with ten
// thousand nodes than with ten.
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
  enum class Phase { kReady, kRunning, kFinished, kStopping };

  class Node {
   public:
    const NodeId& id() const { return join.node; }
    Phase phase() const { return phase_; }
    TimePoint last_heard() const { return last_heard_; }

    Join join;
    int arrival = 0;
    int group_rank = -1;  // in the last round it was part of

   private:
    friend Roster;
    Phase phase_ = Phase::kReady;
    TimePoint last_heard_;
    std::list<Node*>::iterator place_;  // in by_silence_
  };

  /// Ready, and heard at `now`. Nobody of that id may be there.
  void add(Join join, int arrival, TimePoint now);
  void remove(Node& node);

  /// nullptr when it is not there.
  Node* find(const NodeId& id);
  /// Who has asked for that rank; nullptr when nobody has.
  const Node* with_wanted_rank(int rank) const;

  bool empty() const { return nodes_.empty(); }
  int count(Phase phase) const { return counts_[static_cast<std::size_t>(phase)]; }
  void set_phase(Node& node, Phase phase);

  /// Times never go back from one call to the next.
  void heard(Node& node, TimePoint now);
  void all_heard(TimePoint now);
  /// Whoever was heard longest ago; the roster is not empty.
  Node& most_silent() { return *by_silence_.front(); }
  const Node& most_silent() const { return *by_silence_.front(); }

  /// All, in the order of their ids.
  template <typename Visit>
  void for_each(Visit visit) {
    for (auto& [id, node] : nodes_) visit(node);
  }

 private:
  int& counter(Phase phase) { return counts_[static_cast<std::size_t>(phase)]; }

  std::map<NodeId, Node> nodes_;
  std::map<int, Node*> by_wanted_rank_;
  std::list<Node*> by_silence_;  // whoever was heard last is last
  std::array<int, 4> counts_{};  // by phase
};

}  // namespace ddprun
