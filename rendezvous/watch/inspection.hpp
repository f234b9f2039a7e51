// What the nodes answer when they are asked what their workers do, put together into one report.
// Pure.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/numbers.hpp"
#include "rendezvous/messages/hang_report.hpp"
#include "rendezvous/messages/inspect_messages.hpp"
#include "rendezvous/messages/message_limits.hpp"
#include "rendezvous/watch/hang_watch.hpp"

namespace ddprun {

/// What many nodes answer about their workers, put together: workers that do the same are in one
/// group.
struct FoldedStacks {
  StackGroup group;
  RankList ranks;
  bool missing = false;
};

/// Workers in the same state become one group. Those with a rank of `missing` come first, then
/// small groups, because these are the exceptions.
std::vector<FoldedStacks> fold_answers(const std::vector<StackGroup>& answers,
                                       const RankList& missing);

/// "rank 1", "ranks 0-3".
std::string named(const RankList& ranks);

/// Inspection: what the nodes answer when they are asked what their workers do, put together into
/// one report of a hang.
class Inspection {
 public:
  /// Number `number`, in which all of `nodes` are asked because of `why`.
  Inspection(int number, Suspicion why, std::set<NodeId> nodes)
      : number_{number}, why_{std::move(why)}, waiting_for_{std::move(nodes)} {}

  const Suspicion& why() const { return why_; }

  enum class Phase { kLooking, kPausing, kLookingAgain };
  Phase phase() const { return phase_; }

  /// Whether a rank that seems to be missing may just be giving up as well: a program that has
  /// waited in vain takes a moment to fail. A second look shows which ones have.
  bool leaves_doubt() const;
  /// There will be a second look; what comes until then is passed over.
  void pause();
  /// The second look begins, with that number; all of `nodes` are asked.
  void look_again(int number, std::set<NodeId> nodes);

  /// Notes an answer. One to another inspection is passed over, and so are more of them than a
  /// report could show.
  void take(const NodeId& node, const Inspected& answer);

  /// The answer of that node is not awaited any more.
  void forget(const NodeId& node) { waiting_for_.erase(node); }

  /// Whether every node has answered.
  bool complete() const { return phase_ != Phase::kPausing && waiting_for_.empty(); }

  /// The report, from the answers so far. Workers that do the same are in one group; missing ones
  /// come first. If no rank was known to wait, the stacks show which do. After a second look the
  /// stacks are those of the first one.
  HangReport report() const;

 private:
  int number_;
  Suspicion why_;
  std::set<NodeId> waiting_for_;
  Phase phase_ = Phase::kLooking;
  std::vector<StackGroup> groups_;  // the first look has found them
  std::vector<StackGroup> later_;   // the second one has
};

}  // namespace ddprun
