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

Clock::duration RestartClock::Steps::each() const {
  const std::int64_t steps = first ? last->number - first->number : 0;
  return steps > 0 ? (last->at - first->at) / steps : Clock::duration{0};
}

std::optional<RestartTimes> RestartClock::Restart::tell() {
  if (told == knows()) return std::nullopt;
  told = knows();
  return times;
}

void RestartClock::stop_ordered(const Stop& why, TimePoint now) {
  const TimePoint failed = now - why.noticed_after;
  if (round_ && !round_->ended) round_->ended = failed;
  restart_ = Restart{.times = {.from_round = why.round,
                               .reason = why.reason,
                               .detected_ms = ms(why.noticed_after),
                               .in_place = why.in_place,
                               .nobody_lost = why.nobody_lost},
                     .failed = failed,
                     .ordered = now};
}

void RestartClock::stopped(TimePoint now) {
  close_round(now);
  if (!restart_ || restart_->stopped) return;
  restart_->stopped = now;
  restart_->times.stopped_ms = ms(now - restart_->ordered);
}

void RestartClock::sealed(int round, int nodes_that_tell, TimePoint now) {
  close_round(now);
  round_ = Round{
      .restart = std::exchange(restart_, std::nullopt), .sealed = now, .starting = nodes_that_tell};
  if (!round_->restart) return;
  Restart& restart = *round_->restart;
  restart.times.round = round;
  restart.times.sealed_ms = ms(now - restart.stopped.value_or(restart.ordered));
  ++(restart.times.nobody_lost ? changes_so_far_ : restarts_so_far_);
  if (restarts_.size() == kRestartsToldMax) restarts_.erase(restarts_.begin());
  restarts_.push_back(restart.times);
}

void RestartClock::started(TimePoint now) {
  if (!round_ || round_->starting == 0 || --round_->starting > 0) return;
  round_->started = now;
  if (!round_->restart || round_->stayed()) return;
  round_->restart->times.started_ms = ms(now - round_->sealed);
  keep();
}

/// Workers that have stayed tell again how far they were: that is no step of this round.
bool RestartClock::is_of_before(std::int64_t step) const {
  return round_->stayed() && !round_->moved && before_.last && step >= 0 &&
         step <= before_.last->number;
}

void RestartClock::progressed(Advance seen) {
  if (!round_ || (!seen.first && is_of_before(seen.step))) return;
  seen.at = round_->end(seen.at);
  const TimePoint first =
      std::max(seen.first ? round_->end(seen.first->at) : seen.at, round_->workers_ran());
  firsts_are_told_ = firsts_are_told_ || seen.first.has_value();
  const bool is_sign = seen.first ? !round_->steps.first_is_told : !firsts_are_told_;
  if (is_sign && (seen.first || !round_->moved)) move(first, seen.first.has_value());
  if (seen.step >= 0) note(round_->steps, seen, first);
  steps_are_told_ = steps_are_told_ || seen.step >= 0;
  count_again();
}

/// A first step that is heard later, and is nearer to the truth, replaces one that was seen.
void RestartClock::count_again() {
  if (!round_->restart || !round_->steps.first || !before_.last) return;
  Lost again;
  add_lost(again, round_->steps);
  round_->restart->times.steps_again = again.steps;
  round_->restart->times.again_at_least = again.at_least;
  keep();
}

/// Until then it was unknown what the workers did, so it was the start-up.
void RestartClock::move(TimePoint when, bool told) {
  round_->moved = when;
  round_->ends_startup = round_->ends_startup || !startup_;
  if (round_->ends_startup) {
    training_ = {};
    startup_ = when - begun_ - restarting_until(when);
  }
  if (!round_->restart) return;
  round_->restart->times.first_step_ms = ms(when - round_->workers_ran());
  round_->restart->times.first_step_seen = !told;
  keep();
}

void RestartClock::note(Steps& steps, const Advance& seen, TimePoint first_at) {
  if (!steps.first || (seen.first && !steps.first_is_told))
    steps.first = {seen.first ? seen.first->number : seen.step, first_at};
  steps.first_is_told = steps.first_is_told || seen.first.has_value();
  if (!steps.last || seen.step > steps.last->number)
    steps.last = {seen.step, std::max(seen.at, first_at)};
}

std::optional<RestartTimes> RestartClock::take_due(TimePoint now) {
  if (cut_short_) return std::exchange(cut_short_, std::nullopt);
  if (!runs() || !round_->restart) return std::nullopt;
  Restart& restart = *round_->restart;
  const bool ran = restart.times.started_ms >= 0 || round_->stayed();
  const bool complete = ran && restart.times.first_step_ms >= 0;
  if (!complete && now < round_->workers_ran() + kFirstStepPatience) return std::nullopt;
  auto told = restart.tell();
  if (told) told->awaits_step = !complete && startup_.has_value();
  return told;
}

std::optional<TimePoint> RestartClock::next_due() const {
  if (!runs() || !round_->restart || round_->restart->told != Restart::Told::kNothing)
    return std::nullopt;
  return round_->workers_ran() + kFirstStepPatience;
}

std::optional<RestartTimes> RestartClock::end(TimePoint now) {
  close_round(now);
  return std::exchange(cut_short_, std::nullopt);
}

/// All that is to come of the round has come.
void RestartClock::close_round(TimePoint now) {
  if (!round_) return;
  training_ = training_until(now);
  restarting_ = restarting_until(now);
  if (round_->steps.last) {
    add_lost(lost_, round_->steps);
    before_ = round_->steps;
  }
  if (round_->restart) cut_short_ = round_->restart->tell();
  round_.reset();
}

/// Training goes on from the last checkpoint, so steps behind it are done once more.
void RestartClock::add_lost(Lost& lost, const Steps& steps) const {
  if (!before_.last || !steps.first) return;
  const std::int64_t again =
      std::max<std::int64_t>(0, before_.last->number - steps.first->number + 1);
  lost.steps += again;
  lost.time += again * before_.each();
  lost.at_least = lost.at_least || !steps.first_is_told;
}

/// A program without visible progress trains all the time, as far as one knows. One that has
/// shown some does so only from a round's first sign on.
TimePoint RestartClock::training_began(TimePoint end) const {
  return round_->moved.value_or(startup_ ? end : round_->workers_ran());
}

Clock::duration RestartClock::training_until(TimePoint now) const {
  if (!round_) return training_;
  const TimePoint end = round_->end(now);
  return training_ + std::max(end - training_began(end), Clock::duration{0});
}

Clock::duration RestartClock::restarting_until(TimePoint now) const {
  if (!round_ || !round_->restart) return restarting_;
  const TimePoint end = round_->end(now);
  const TimePoint over = std::min(training_began(end), end);
  return restarting_ + std::max(over - round_->restart->failed, Clock::duration{0});
}

Goodput RestartClock::goodput(TimePoint now) const {
  Lost lost = lost_;
  if (round_) add_lost(lost, round_->steps);
  Goodput out{.wall_s = seconds(now - begun_),
              .training_s = seconds(training_until(now)),
              .restarts_s = seconds(restarting_until(now)),
              .restarts = restarts_so_far_,
              .lost_steps = steps_are_told_ ? lost.steps : -1,
              .lost_s = seconds(lost.time),
              .changes = changes_so_far_,
              .lost_at_least = steps_are_told_ && lost.at_least};
  if (startup_) out.startup_s = seconds(*startup_);
  const double after_startup = out.wall_s - std::max(out.startup_s, 0.0);
  if (after_startup > 0 && steps_are_told_)
    out.goodput_percent =
        std::clamp(100 * (out.training_s - out.lost_s) / after_startup, 0.0, 100.0);
  return out;
}

}  // namespace ddprun
