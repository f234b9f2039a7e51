#include "agent/introspection/worker_watch.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

namespace ddprun {

namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;

constexpr milliseconds kDeepMin{100};
constexpr int kDeepPerTimeout = 8;
constexpr milliseconds kAligned{1'000};  // pauses from this on: see next_deep_look()
constexpr int kDutyInverse = 200;        // looks take at most 0.5 % of the time

/// Whether the worker's work is at another place.
bool moved(const RankProgress& before, const RankProgress& now) {
  return before.groups != now.groups || before.waits_in != now.waits_in || before.step != now.step;
}

std::vector<GroupProgress> without(std::vector<GroupProgress> groups,
                                   const std::vector<GroupProgress>& others) {
  std::erase_if(groups, [&](const auto& group) { return std::ranges::count(others, group) > 0; });
  return groups;
}

std::uint64_t whole_seconds(milliseconds time) {
  return static_cast<std::uint64_t>(std::chrono::ceil<std::chrono::seconds>(time).count());
}

}  // namespace

LookIntervals look_intervals(milliseconds hang_timeout) {
  LookIntervals intervals;
  if (hang_timeout > milliseconds{0})
    intervals = {.deep = std::clamp(hang_timeout / kDeepPerTimeout, kDeepMin, intervals.deep),
                 .idle = hang_timeout};
  intervals.light = std::min(intervals.light, intervals.deep);
  return intervals;
}

std::optional<RankProgress> WorkerWatch::take(const WorkerLook& look, TimePoint now) {
  RankProgress seen = told_;
  if (look.deep) {
    seen.watched = look.watched;
    seen.waits_in = look.waits_in;
    if (look.groups) seen.groups = without(*look.groups, before_.groups);
    if (seen.groups.size() > kProgressGroupsMax) seen.groups.resize(kProgressGroupsMax);
  }
  note_step(look, seen);
  if (look.steps > 0) seen.steps = look.steps;
  if (look.loss) {
    seen.has_loss = true;
    seen.loss = std::isfinite(*look.loss) ? *look.loss : 0;
  }
  if (look.samples_per_second > 0) seen.samples_per_second = look.samples_per_second;
  if (look.left_s >= 0) seen.left_s = look.left_s;
  const bool changed = !since_ || moved(told_, seen);
  seen.paused_ms = 0;
  if (changed) {
    if (since_) seen.paused_ms = duration_cast<milliseconds>(seen_ - *since_).count();
    since_ = now;
    first_use_.reset();
    seen.idle = seen.busy = false;
  }
  if (look.deep) note_cpu(look, now, seen);
  // A light look cannot see that a collective is done, only a step.
  if (look.deep || seen.step >= 0) seen_ = now;
  seen.look_ms = look_time(seen).count();
  if (seen == told_ && told_anything_) return std::nullopt;
  date(seen, now);
  told_anything_ = true;
  told_ = seen;
  told_.paused_ms = 0;
  return seen;
}

RankProgress WorkerWatch::all(std::optional<std::int64_t> step) const {
  RankProgress all = told_;
  all.step = step.value_or(-1);
  for (const GroupProgress& group : without(before_.groups, all.groups))
    if (all.groups.size() < kProgressGroupsMax) all.groups.push_back(group);
  return all;
}

void WorkerWatch::note_cpu(const WorkerLook& look, TimePoint now, RankProgress& seen) {
  const auto asked = last_use_.asked + std::min(look.asked, kLookCostMax);
  const CpuUse use{look.cpu, look.wanted, now, asked};
  const CpuUse last = std::exchange(last_use_, use);
  if (!first_use_) {
    first_use_ = use;
    asleep_since_ = now;
    return;
  }
  const auto used_since = [&](const CpuUse& then) {
    return (use.cpu - then.cpu) - (use.asked - then.asked);
  };
  const auto elapsed = duration_cast<milliseconds>(now - last.time);
  const milliseconds idle_use = elapsed / kIdlePart + kIdleCpu;
  if (used_since(last) > idle_use || look.wanted - last.wanted > idle_use) asleep_since_ = now;
  const auto asleep = now - *asleep_since_;
  seen.idle = asleep >= intervals_.idle || (asleep_since_ == first_use_->time && now > last.time);
  seen.busy = used_since(*first_use_) >= kBusyCpu;
}

RankProgress WorkerWatch::end(TimePoint now) {
  if (!since_) since_ = now;
  told_.ended = true;
  date(told_, now);
  return told_;
}

/// A first step that the worker tells is of this round, whatever its number is.
void WorkerWatch::note_step(const WorkerLook& look, RankProgress& seen) {
  if (look.step && (look.first_step >= 0 || look.step != before_.step)) seen.step = *look.step;
  if (look.first_step < 0) return;
  seen.first_step = look.first_step;
  first_at_ = look.first_at;
}

void WorkerWatch::date(RankProgress& seen, TimePoint now) const {
  const auto ms_since = [&](TimePoint then) {
    return std::max(duration_cast<milliseconds>(now - then), milliseconds{0}).count();
  };
  seen.still_ms = ms_since(*since_);
  if (seen.first_step >= 0) seen.first_ms = ms_since(first_at_);
}

/// Steps are seen by light looks, collectives by deep ones alone. It takes a light look's time more
/// until the coordinator hears of it.
milliseconds WorkerWatch::look_time(const RankProgress& seen) const {
  return (seen.step >= 0 ? intervals_.light : intervals_.deep) + 2 * intervals_.light;
}

/// Longer pauses are powers of two, so that those of several workers have moments in common.
milliseconds WorkerWatch::deep_pause(milliseconds duration) const {
  const bool at_work = std::ranges::any_of(
      told_.groups, [](const GroupProgress& group) { return group.completed > 0; });
  if (!at_work) return std::min(intervals_.deep, milliseconds{1'000});
  // A worker that does nothing any more is not held up by looks.
  if (told_.idle) return intervals_.deep;
  const milliseconds rare =
      std::max(intervals_.deep, std::min(kDutyInverse * duration, 3 * intervals_.deep));
  const auto cheap = std::min(rare, kDutyInverse * std::min(duration, kLookCostMax));
  if (cheap < kAligned) return std::min(rare, kAligned);
  return std::chrono::seconds{
      std::min(std::bit_ceil(whole_seconds(cheap)), std::bit_floor(whole_seconds(rare)))};
}

NextLook next_deep_look(TimePoint now, std::int64_t unix_us, milliseconds pause) {
  std::chrono::microseconds wait{pause};
  if (pause >= kAligned) wait -= std::chrono::microseconds{unix_us % wait.count()};
  const std::chrono::microseconds then{unix_us + wait.count()};
  return {now + wait, duration_cast<std::chrono::seconds>(then).count()};
}

}  // namespace ddprun
