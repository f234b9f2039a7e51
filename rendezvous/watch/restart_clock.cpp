#include "rendezvous/watch/restart_clock.hpp"

#include <algorithm>
#include <utility>

namespace ddprun {

namespace {

double ms(Clock::duration time) {
  return std::chrono::duration<double, std::milli>{std::max(time, Clock::duration{0})}.count();
}

double seconds(Clock::duration time) { return std::chrono::duration<double>{time}.count(); }

}  // namespace

void RestartClock::stop_ordered(int round, std::string reason, bool in_place,
                                Clock::duration noticed_after, TimePoint now) {
  const TimePoint failed = now - noticed_after;
  cut_short_ = tell();
  finish_round(failed);
  restart_ = Restart{.times = {.from_round = round,
                               .reason = std::move(reason),
                               .detected_ms = ms(noticed_after),
                               .in_place = in_place},
                     .failed = failed,
                     .ordered = now};
}

void RestartClock::stopped(TimePoint now) {
  if (!restart_ || restart_->stopped) return;
  restart_->stopped = now;
  restart_->times.stopped_ms = ms(now - restart_->ordered);
}

void RestartClock::sealed(int round, int nodes_that_tell, TimePoint now) {
  round_ = Round{.restarted = restart_.has_value(), .sealed = now, .starting = nodes_that_tell};
  if (!restart_) return;
  restart_->has_round = true;
  restart_->times.round = round;
  restart_->times.sealed_ms = ms(now - restart_->stopped.value_or(restart_->ordered));
  ++restarts_so_far_;
  if (restarts_.size() == kRestartsToldMax) restarts_.erase(restarts_.begin());
  restarts_.push_back(restart_->times);
}

void RestartClock::started(TimePoint now) {
  if (!round_ || round_->starting == 0 || --round_->starting > 0) return;
  round_->started = now;
  if (!round_->restarted) return;
  restart_->times.started_ms = ms(now - round_->sealed);
  keep();
}

/// Workers that have stayed tell again how far they were: that is no step of this round.
bool RestartClock::is_of_before(std::int64_t step) const {
  const bool stayed = round_->restarted && restart_->times.in_place;
  return stayed && !round_->moved && last_before_ && step >= 0 && step <= last_before_->number;
}

void RestartClock::progressed(std::int64_t step, TimePoint when) {
  if (!round_ || is_of_before(step)) return;
  when = std::max(when, round_->workers_ran());
  progress_is_seen_ = true;
  if (!round_->moved) {
    round_->moved = when;
    if (round_->restarted) restart_->times.first_step_ms = ms(when - round_->workers_ran());
    if (round_->restarted) keep();
  }
  if (step < 0) return;
  steps_are_told_ = true;
  const Step told{step, when};
  if (!round_->first) {
    round_->first = told;
    count_lost(told);
  }
  if (!round_->last || step > round_->last->number) round_->last = told;
}

std::optional<RestartTimes> RestartClock::take_due(TimePoint now) {
  if (cut_short_) return std::exchange(cut_short_, std::nullopt);
  if (!round_ || !restart_) return std::nullopt;
  const bool complete = restart_->times.started_ms >= 0 && restart_->times.first_step_ms >= 0;
  if (!complete && now < round_->workers_ran() + kFirstStepPatience) return std::nullopt;
  auto told = tell();
  if (told) told->awaits_step = !complete && progress_is_seen_;
  return told;
}

std::optional<TimePoint> RestartClock::next_due() const {
  if (!round_ || !restart_ || restart_->told != Restart::Told::kNothing) return std::nullopt;
  return round_->workers_ran() + kFirstStepPatience;
}

std::optional<RestartTimes> RestartClock::end(TimePoint now) {
  finish_round(now);
  return tell();
}

std::optional<RestartTimes> RestartClock::tell() {
  if (!restart_ || !restart_->has_round || restart_->told == restart_->knows()) return std::nullopt;
  restart_->told = restart_->knows();
  return restart_->times;
}

void RestartClock::finish_round(TimePoint end) {
  if (!round_) return;
  training_ = training_until(end);
  restarting_ = restarting_until(end);
  if (round_->last) {
    last_before_ = round_->last;
    const std::int64_t steps = round_->last->number - round_->first->number;
    step_before_ = steps > 0 ? (round_->last->at - round_->first->at) / steps : Clock::duration{0};
  }
  round_.reset();
}

/// Training goes on from the last checkpoint, so steps behind it are done once more.
void RestartClock::count_lost(const Step& first_after) {
  if (!last_before_) return;
  const std::int64_t again =
      std::max<std::int64_t>(0, last_before_->number - first_after.number + 1);
  lost_steps_ += again;
  lost_ += again * step_before_;
  last_before_.reset();
}

void RestartClock::keep() { restarts_.back() = restart_->times; }

Clock::duration RestartClock::training_until(TimePoint now) const {
  if (!round_) return training_;
  return training_ + std::max(now - round_->training_began(), Clock::duration{0});
}

Clock::duration RestartClock::restarting_until(TimePoint now) const {
  if (!round_ || !round_->restarted) return restarting_;
  const TimePoint over = std::min(round_->training_began(), now);
  return restarting_ + std::max(over - restart_->failed, Clock::duration{0});
}

Goodput RestartClock::goodput(TimePoint now) const {
  Goodput out{.wall_s = seconds(now - begun_),
              .training_s = seconds(training_until(now)),
              .restarts_s = seconds(restarting_until(now)),
              .restarts = restarts_so_far_,
              .lost_steps = steps_are_told_ ? lost_steps_ : -1,
              .lost_s = seconds(lost_)};
  if (out.wall_s > 0 && steps_are_told_)
    out.goodput_percent = std::clamp(100 * (out.training_s - out.lost_s) / out.wall_s, 0.0, 100.0);
  return out;
}

}  // namespace ddprun
