// CheckpointsJudge knows what nodes have said to the coordinator, and requires that its orders
// follow from that.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "rendezvous/rounds/job_checkpoints.hpp"
#include "tests/rendezvous/rounds/checkpoints_model.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {

class CheckpointsJudge {
 public:
  void begin_round(int round) {
    if (std::exchange(round_, round) == round) return;
    savers_.clear();
    kept_before_ = kept_.empty() ? 0 : kept_.rbegin()->first;
  }
  /// What comes to disk is of this round, or it is what it continued from or older.
  void wrote(int number, int loaded) const {
    REQUIRE((number <= std::max(loaded, 0) || number > kept_before_));
  }
  void kept(const NodeId& node, const CheckpointSaid& said, bool at_end) {
    Kept& kept = kept_[said.number];
    kept.at_end = at_end;
    if (said.changed) kept.savers.insert(node);
    kept.removed.insert(said.removed.begin(), said.removed.end());
  }
  void staged(const CheckpointOrder& order) { staged_.insert({order.number, order.part}); }

  void judge(const ModelNode& node, const CheckpointOrder& order, TimePoint now) {
    using What = CheckpointOrder::What;
    if (order.what == What::kCounts) judge_count(order, now);
    if (order.what == What::kStage)
      REQUIRE(node.had.contains({order.number, order.part, order.parts}));
    if (order.what == What::kMove && order.number != 0)
      for (int part = 0; part < order.parts; ++part)
        REQUIRE(staged_.contains({order.number, part}));
  }

 private:
  struct Kept {
    bool at_end = false;
    std::set<NodeId> savers;
    std::set<std::string> removed;
  };

  void judge_count(const CheckpointOrder& order, TimePoint now) {
    const Kept& kept = kept_[order.number];
    REQUIRE(std::set(order.removed.begin(), order.removed.end()) == kept.removed);
    if (std::exchange(counted_, order.number) == order.number) return;
    REQUIRE_FALSE(kept.savers.empty());
    const bool all_have_saved = std::ranges::includes(kept.savers, savers_);
    if (!all_have_saved && !kept.at_end) REQUIRE(now - counted_at_ >= kLateSave);
    savers_ = kept.savers;
    counted_at_ = now;
  }

  std::map<int, Kept> kept_;
  std::set<std::pair<int, int>> staged_;
  int round_ = 0;
  int kept_before_ = 0;  // the greatest number of all rounds before this one
  int counted_ = 0;
  TimePoint counted_at_{};
  std::set<NodeId> savers_;  // for the last one that counts
};

}  // namespace ddprun
