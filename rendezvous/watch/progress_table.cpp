#include "rendezvous/watch/progress_table.hpp"

#include <algorithm>

#include "rendezvous/messages/message_limits.hpp"

namespace ddprun {

namespace {

/// Whether a worker that was at `before` and is at `now` has gone on with its work. That it has
/// entered a collective is no progress: it may wait in there for ever.
bool went_on(const RankProgress& before, const RankProgress& now) {
  if (now.step > before.step) return true;
  return std::ranges::any_of(now.groups, [&](const GroupProgress& group) {
    const auto old = std::ranges::find(before.groups, group.group, &GroupProgress::group);
    return group.completed > (old == before.groups.end() ? 0 : old->completed);
  });
}

/// The time that a peer reported, within what a timeout may be.
std::chrono::milliseconds time_of_peer(std::int64_t ms) {
  return std::chrono::milliseconds{std::clamp<std::int64_t>(ms, 0, kTimeoutMsMax)};
}

}  // namespace

void ProgressTable::begin_round(int world_size, TimePoint now) {
  world_size_ = world_size;
  began_ = now;
  suspended_ = false;
  resumed_.reset();
  longest_pause_ = {};
  ranks_.clear();
}

void ProgressTable::take(const RankProgress& told, TimePoint now) {
  if (told.rank < 0 || told.rank >= world_size_) return;
  Rank& rank = ranks_[told.rank];
  const bool moved = went_on(rank.last, told);
  if (moved && rank.moved && teaches(told, now))
    longest_pause_ = std::max(longest_pause_, time_of_peer(told.paused_ms));
  rank.moved = rank.moved || moved;
  rank.since = std::max(began_, now - time_of_peer(told.still_ms));
  rank.last = told;
}

/// A pause in which somebody has debugged the job says nothing of the job.
bool ProgressTable::teaches(const RankProgress& told, TimePoint now) const {
  const TimePoint paused = now - time_of_peer(told.still_ms) - time_of_peer(told.paused_ms);
  return !suspended_ && (!resumed_ || paused >= *resumed_);
}

void ProgressTable::resume(TimePoint now) {
  suspended_ = false;
  resumed_ = began_ = now;
  for (auto& [number, rank] : ranks_) rank.since = std::max(rank.since, now);
}

const ProgressTable::Rank* ProgressTable::find(int rank) const {
  const auto found = ranks_.find(rank);
  return found == ranks_.end() ? nullptr : &found->second;
}

std::optional<std::int64_t> ProgressTable::entered(int rank, const std::string& group) const {
  const Rank* const known = find(rank);
  if (known == nullptr) return std::nullopt;
  const auto found = std::ranges::find(known->last.groups, group, &GroupProgress::group);
  if (found == known->last.groups.end()) return std::nullopt;
  return found->enqueued;
}

}  // namespace ddprun
