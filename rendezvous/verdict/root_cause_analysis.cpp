#include "rendezvous/verdict/root_cause_analysis.hpp"

#include <set>
#include <tuple>
#include <utility>

#include "base/numbers.hpp"
#include "rendezvous/verdict/causes.hpp"
#include "rendezvous/verdict/judge_end.hpp"

namespace ddprun {

namespace {

constexpr std::size_t kRoundsRemembered = 1000;
/// A process closes its connections at most this long before it is gone: tearing a large program
/// down takes seconds on a machine that has much to do.
constexpr std::int64_t kBefore = 10'000'000;  // microseconds
/// A worker that lost a connection this long after it was closed has lost another one.
constexpr std::int64_t kLongBefore = 60'000'000;

/// A node's end is a cause of its own; so is a worker's that does not follow from another one. The
/// rest is looked at only if there is neither. A worker ended by a signal from elsewhere is more
/// likely the first than one that lost a connection.
int order_of(const WorkerEnd& end) {
  if (end.blame == Blame::kFollows) return end.consequence == Consequence::kForeignSignal ? 2 : 3;
  return end.blame >= Blame::kStopped ? 4 : static_cast<int>(end.blame);
}

}  // namespace

void RootCauseAnalysis::begin_round(int round) {
  round_ = round;
  seats_.clear();
  suspects_.clear();
  failures_.clear();
  hang_.reset();
  hung_before_.reset();
  failure_.reset();
  host_of_cause_.clear();
  step_ = -1;
}

void RootCauseAnalysis::seat(const NodeId& node, const std::string& host, int first_rank,
                             int workers) {
  seats_[node] = {host, format_number_list(ranks_from(first_rank, workers))};
}

/// The end is reported again with all others of the node, unless the node is lost before.
void RootCauseAnalysis::failed(const NodeId& node, const WorkerFailed& report) {
  const auto seat = seats_.find(node);
  if (report.round != round_ || seat == seats_.end()) return;
  if (failures_.size() < kFailuresMax) failures_.push_back({node, report.failure});
  add({report.end, node, seat->second.host, false});
}

void RootCauseAnalysis::ended(const NodeId& node, const WorkersEnded& report) {
  const auto seat = seats_.find(node);
  if (report.round != round_ || seat == seats_.end()) return;
  reached(report.step);
  for (const WorkerEnd& end : report.ends) add({end, node, seat->second.host, false});
}

void RootCauseAnalysis::lost(const NodeId& node, const std::string& reason, TimePoint since,
                             bool in_order) {
  const auto seat = seats_.find(node);
  if (seat == seats_.end()) return;
  Suspect gone{{}, node, seat->second.host, true, in_order};
  gone.end.ranks = seat->second.ranks;
  gone.end.kind = FailureKind::kNodeLost;
  gone.end.blame = Blame::kOwn;
  gone.end.says = reason;
  gone.end.began_us = gone.end.ended_us = microseconds(since);
  add(std::move(gone));
}

void RootCauseAnalysis::hung(const HangReport& report) { hang_ = report; }

/// What is alike becomes one, as far as that keeps the first one's node.
void RootCauseAnalysis::add(Suspect suspect) {
  for (Suspect& known : suspects_) {
    if (suspect.lost || known.lost || !are_alike(known.end, suspect.end)) continue;
    if (suspect.end.began_us < known.end.began_us) std::swap(known, suspect);
    known.end.ranks = united(known.end.ranks, suspect.end.ranks);
    return;
  }
  if (suspects_.size() < kSuspectsMax) suspects_.push_back(std::move(suspect));
}

/// Whether the other end belongs to the same failure: it is of its own, and of the same root.
bool RootCauseAnalysis::is_part_of(const Suspect& other, const Suspect& first) {
  if (other.lost || first.lost || other.end.kind != first.end.kind) return false;
  const bool own = other.end.blame == Blame::kOwn || other.end.blame == Blame::kPerhaps;
  return own && fingerprint_of(other.end) == fingerprint_of(first.end);
}

/// Whether the other end is to be reported as a cause of its own beside the first. If a worker was
/// asked to end and only the signal of its crash is known, that may come from tearing down.
bool RootCauseAnalysis::is_cause_beside(const Suspect& other, const Suspect& first) {
  if (first.end.kind == FailureKind::kHang) return false;
  if (other.end.blame == Blame::kOwn) return true;
  const bool bare = other.end.kind == FailureKind::kSignal && other.end.fault.type.empty();
  return other.end.blame == Blame::kPerhaps && !(bare && first.end.blame == Blame::kOwn);
}

RootCauseAnalysis::Suspect* RootCauseAnalysis::first_suspect() {
  const auto first = std::ranges::min_element(suspects_, {}, [](const Suspect& suspect) {
    return std::tuple{order_of(suspect.end), suspect.end.began_us};
  });
  if (first == suspects_.end() || first->end.blame >= Blame::kStopped) return nullptr;
  Suspect* const early = first->end.blame == Blame::kFollows ? left_early(*first) : nullptr;
  return early != nullptr ? early : &*first;
}

/// A worker that exits with code 0 while others still work leaves them with lost connections, too.
/// One that has printed an exception did not mean to. nullptr: none did, or the first failure is
/// another one's.
RootCauseAnalysis::Suspect* RootCauseAnalysis::left_early(const Suspect& first) {
  if (!lost_a_peer(first.end)) return nullptr;
  Suspect* found = nullptr;
  for (Suspect& suspect : suspects_) {
    const std::int64_t before = first.end.began_us - suspect.end.began_us;
    if (suspect.end.blame != Blame::kDone || before < -kBefore || before > kLongBefore) continue;
    if (suspect.end.kind == FailureKind::kException) return &suspect;
    if (found == nullptr) found = &suspect;
  }
  return found;
}

std::optional<Verdict> RootCauseAnalysis::decide() {
  if (hang_) return verdict_on(suspect_of(*hang_));
  const Suspect* const first = first_suspect();
  if (first == nullptr) return std::nullopt;
  if (!hung_before_ || explains(first->end) == Explains::kCause) return verdict_on(*first);
  Suspect hang = suspect_of(*hung_before_);
  hang.end.began_us = first->end.began_us;
  return verdict_on(hang);
}

/// A hang has no time of its own: what came of it counts from the last end.
RootCauseAnalysis::Suspect RootCauseAnalysis::suspect_of(const HangReport& hang) const {
  Suspect suspect{end_of(hang), "", "", false};
  if (const RankList missing = ranks_in(hang.missing_ranks); !missing.empty())
    for (const auto& [node, seat] : seats_)
      if (has_rank(ranks_in(seat.ranks), missing.front())) suspect.host = seat.host;
  for (const Suspect& other : suspects_)
    suspect.end.began_us = std::max(suspect.end.began_us, other.end.began_us);
  return suspect;
}

Verdict RootCauseAnalysis::verdict_on(const Suspect& first) {
  Verdict verdict;
  WorkerEnd whole = first.end;
  for (const Suspect& other : suspects_)
    if (is_part_of(other, first)) whole.ranks = united(whole.ranks, other.end.ranks);
  verdict.cause = cause_of(whole, first.host);
  for (const Suspect& other : suspects_) {
    if (is_part_of(other, first)) continue;
    if (other.node == first.node && other.lost && first.lost) continue;
    if (is_cause_beside(other, first) && verdict.also.size() < kOtherCausesMax)
      verdict.also.push_back(cause_of(other.end, other.host));
    else if (other.end.blame != Blame::kDone)
      follow(verdict, other, first);
  }
  std::ranges::sort(verdict.followers, {}, &Followers::after_us);
  if (verdict.followers.size() > kFollowersMax) verdict.followers.resize(kFollowersMax);
  verdict.history = history_of(verdict.cause);
  find_failure(first);
  const bool own = first.end.blame == Blame::kOwn || first.end.kind == FailureKind::kHang;
  host_of_cause_ = own && !first.in_order ? host_of(ranks_in(whole.ranks)) : "";
  return verdict;
}

/// The one host that has all of these ranks, in a round of several hosts.
std::string RootCauseAnalysis::host_of(const RankList& ranks) const {
  std::set<std::string> all;
  std::set<std::string> found;
  for (const auto& [node, seat] : seats_) {
    all.insert(seat.host);
    if (share_a_rank(ranks, ranks_in(seat.ranks))) found.insert(seat.host);
  }
  return found.size() == 1 && all.size() > 1 ? *found.begin() : "";
}

/// A rank of the cause follows no other.
void RootCauseAnalysis::follow(Verdict& verdict, const Suspect& other, const Suspect& first) const {
  const RankList ranks = without(ranks_in(other.end.ranks), ranks_in(verdict.cause.ranks));
  if (ranks.empty()) return;
  const bool stopped = other.end.blame == Blame::kStopped || other.end.blame == Blame::kPerhaps;
  const std::int64_t when = stopped ? other.end.ended_us : other.end.began_us;
  verdict.followers.push_back({.ranks = format_number_list(ranks),
                               .kind = other.end.kind,
                               .what = stopped ? "stopped by ddprun" : other.end.says,
                               .after_us = std::max<std::int64_t>(0, when - first.end.began_us),
                               .stopped_by_us = stopped});
}

/// The rounds before count as long as they had the same root.
std::string RootCauseAnalysis::history_of(const Cause& cause) {
  if (!roots_.empty() && roots_.back().fingerprint != cause.fingerprint) roots_.clear();
  if (roots_.size() < kRoundsRemembered) roots_.push_back({cause.fingerprint, step_});
  const bool known = roots_.front().step >= 0 && step_ >= 0;
  const std::int64_t gained =
      known ? std::max<std::int64_t>(0, step_ - roots_.front().step) : std::int64_t{-1};
  return history_text(static_cast<int>(roots_.size()), cause, gained);
}

/// The failure with all its texts, if its node has sent them; else what the verdict knows of it.
void RootCauseAnalysis::find_failure(const Suspect& first) {
  if (first.lost || first.end.kind == FailureKind::kHang || first.end.status.ok()) return;
  const std::vector<int> ranks = ranks_in(first.end.ranks);
  for (const Told& told : failures_) {
    if (told.node != first.node || std::ranges::count(ranks, told.failure.rank) == 0) continue;
    failure_ = told.failure;
    failure_->status = first.end.status;
    return;
  }
  if (ranks.empty()) return;
  failure_ = WorkerFailure{.host = first.host, .rank = ranks.front(), .status = first.end.status};
  if (!first.end.fault.type.empty())
    failure_->message = first.end.fault.type + ": " + first.end.fault.message;
  failure_->time_unix_ms = failures_.empty() ? 0 : failures_.front().failure.time_unix_ms;
}

}  // namespace ddprun
