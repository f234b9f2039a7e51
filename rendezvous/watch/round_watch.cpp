#include "rendezvous/watch/round_watch.hpp"

#include <algorithm>
#include <utility>

#include "base/numbers.hpp"

namespace ddprun {

using std::chrono::duration_cast;
using std::chrono::milliseconds;

void RoundWatch::begin_round(int world_size, std::set<NodeId> nodes, TimePoint now) {
  end_round();
  table_.begin_round(world_size, now);
  nodes_ = std::move(nodes);
  if (said_ != kHangTimeoutOff) due_ = now;
}

void RoundWatch::end_round() {
  due_.reset();
  suspended_ = false;
  inspection_.reset();
  suspicion_.reset();
  told_.reset();
}

void RoundWatch::take(const NodeId& node, const Inspected& answer) {
  if (!inspection_) return;
  inspection_->take(node, answer);
  if (inspection_->complete()) due_ = TimePoint::min();
}

void RoundWatch::add(const NodeId& node) { nodes_.insert(node); }

void RoundWatch::forget(const NodeId& node) {
  nodes_.erase(node);
  if (inspection_) inspection_->forget(node);
}

/// A worker that has failed is waited for until the others have answered, whatever comes of it.
void RoundWatch::suspend() {
  suspended_ = true;
  table_.suspend();
  if (inspection_ && inspection_->why().gave_up == GaveUp::kNobody) inspection_.reset();
}

void RoundWatch::resume(TimePoint now) {
  suspended_ = false;
  if (suspicion_ && !is_over(*suspicion_, table_, told_at_)) {
    suspicion_->silent += duration_cast<milliseconds>(now - told_at_);
    told_at_ = now;  // else ranks that stand still would seem to have gone on since it was reported
  }
  table_.resume(now);
}

RoundWatch::Finding RoundWatch::look(int round, TimePoint now) {
  if (!due_ || now < *due_) return {};
  if (inspection_) return go_on_with_inspection(round, now);
  return look_for_hang(round, now);
}

RoundWatch::Finding RoundWatch::look_for_hang(int round, TimePoint now) {
  const auto patience = hang_patience(said_, table_);
  if (!patience) return {};
  due_ = now + std::clamp(patience->timeout / kLooksPerTimeout, kLooksEveryMin, kLooksEvery);
  if (suspicion_) {
    if (!is_over(*suspicion_, table_, told_at_)) return {};
    const auto lasted = suspicion_->silent + duration_cast<milliseconds>(now - told_at_);
    suspicion_.reset();
    told_.reset();
    return Over{lasted};
  }
  if (suspended_) return {};
  auto found = suspect(table_, *patience, now);
  if (!found) return {};
  const std::string missing = format_number_list(found->missing);
  inspection_.emplace(next_inspection(), std::move(*found), nodes_);
  due_ = now + kInspectionTimeout;
  return Ask{{round, inspections_, on_hang_ != OnHang::kReport, missing}};
}

std::optional<Inspect> RoundWatch::ask_for_missing(int round, int failed_rank, GaveUp gave_up,
                                                   TimePoint now) {
  if (!due_ || nodes_.empty() || suspicion_ || suspended_) return std::nullopt;
  Suspicion why{
      .kind = HangReport::Kind::kNoProgress, .waiting = {failed_rank}, .gave_up = gave_up};
  why.missing = without(ranks_from(0, table_.world_size()), why.waiting);
  inspection_.emplace(next_inspection(), std::move(why), nodes_);
  due_ = now + kInspectionTimeout;
  return Inspect{round, inspections_, true, ""};
}

RoundWatch::Finding RoundWatch::go_on_with_inspection(int round, TimePoint now) {
  switch (inspection_->phase()) {
    case Inspection::Phase::kLooking:
      if (!inspection_->leaves_doubt()) break;
      inspection_->pause();
      due_ = now + kSecondLookAfter;
      return {};
    case Inspection::Phase::kPausing:
      inspection_->look_again(next_inspection(), nodes_);
      due_ = now + kInspectionTimeout;
      return Ask{{round, inspections_, true, ""}};
    case Inspection::Phase::kLookingAgain:
      break;
  }
  return finish_inspection(now);
}

RoundWatch::Finding RoundWatch::finish_inspection(TimePoint now) {
  HangReport report = inspection_->report();
  suspicion_ = inspection_->why();
  // That somebody has given up to wait shows a hang only where it is known who has not come.
  const bool shows_hang =
      suspicion_->gave_up == GaveUp::kNobody || report.kind == HangReport::Kind::kMissing;
  if (suspended_ || !shows_hang) suspicion_.reset();
  if (suspicion_) told_ = report;
  told_at_ = now;
  inspection_.reset();
  due_ = now + kLooksEveryMin;
  return Found{std::move(report)};
}

}  // namespace ddprun
