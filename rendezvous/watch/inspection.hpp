// Inspection: what the nodes answer when they are asked what their workers do, put together into
// one report of a hang.
#pragma once

#include <set>
#include <vector>

#include "rendezvous/messages/messages.hpp"
#include "rendezvous/watch/hang_watch.hpp"

namespace ddprun {

class Inspection {
 public:
  /// Number `number`, in which all of `nodes` are asked because of `why`.
  Inspection(int number, Suspicion why, std::set<NodeId> nodes)
      : number_{number}, why_{std::move(why)}, waiting_for_{std::move(nodes)} {}

  const Suspicion& why() const { return why_; }

  /// Notes an answer. One to another inspection is passed over, and so are more of them than a
  /// report could show.
  void take(const NodeId& node, const Inspected& answer);

  /// Nobody waits for the answer of that node any more.
  void forget(const NodeId& node) { waiting_for_.erase(node); }

  /// Whether every node has answered.
  bool complete() const { return waiting_for_.empty(); }

  /// The report, from the answers so far. Workers that do the same are in one group, those who are
  /// missing come first. Where nobody was known to wait, the stacks tell who does.
  HangReport report() const;

 private:
  int number_;
  Suspicion why_;
  std::set<NodeId> waiting_for_;
  std::vector<StackGroup> groups_;
};

}  // namespace ddprun
