// RestartClock measures what each restart of a job costs, and where the time of the job goes.
//
// It is passive: CoordinatorMachine tells it what happens, and when. What the parts of a restart
// are says RestartTimes.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "rendezvous/messages/job_times.hpp"

namespace ddprun {

/// How far a worker of a round is, as its agent tells.
struct Advance {
  /// A step, and when it was done.
  struct Step {
    std::int64_t number = 0;
    TimePoint at;
  };
  std::int64_t step = -1;  // the last one that it has done; -1: it does not tell
  TimePoint at;            // when it was seen to go on: a collective was done, or that step
  /// Its first one of the round; nullopt: only what was seen is known.
  std::optional<Step> first = {};
};

class RestartClock {
 public:
  /// A restart is reported without a first step if none comes within this time after the workers'
  /// start: a training may need minutes for it, and many do not report their steps.
  static constexpr std::chrono::seconds kFirstStepPatience{10};

  explicit RestartClock(TimePoint begun) : begun_{begun} {}

  /// Why a round is asked to stop.
  struct Stop {
    int round = 0;
    std::string reason;
    bool in_place = false;             // workers that can stay do
    bool nobody_lost = false;          // they only take others in
    Clock::duration noticed_after{0};  // time since that had happened
  };
  void stop_ordered(const Stop& why, TimePoint now);

  /// Workers that could stay are restarted after all.
  void nobody_stays() {
    if (restart_) restart_->times.in_place = false;
  }
  /// Nothing is alive any more of the round that was asked to stop.
  void stopped(TimePoint now);

  /// A round begins; that many of its nodes will report when they have started their workers.
  void sealed(int round, int nodes_that_tell, TimePoint now);

  /// One of these nodes has started its workers.
  void started(TimePoint now);

  /// A worker of the round went on. This may arrive when the round was already asked to stop.
  void progressed(Advance seen);
  /// Whether a round runs, and was not told to stop.
  bool runs() const { return round_ && !round_->ended; }

  /// Returns a restart that is over and was not told yet, or has waited for its first step for too
  /// long; that one once more when its first step has come after all.
  std::optional<RestartTimes> take_due(TimePoint now);

  /// When take_due() has something new, if nothing else happens.
  std::optional<TimePoint> next_due() const;

  /// The job ends at `now`. Returns a restart that was not told yet.
  std::optional<RestartTimes> end(TimePoint now);

  /// The last restarts that led to a round.
  const std::vector<RestartTimes>& restarts() const { return restarts_; }

  /// Where the time of the job has gone until `now`.
  Goodput goodput(TimePoint now) const;

 private:
  using Step = Advance::Step;

  /// What was reported of the steps of a round.
  struct Steps {
    std::optional<Step> first, last;  // `last` is the greatest
    bool first_is_told = false;       // and not only what was seen first
    Clock::duration each() const;     // 0: not known
  };

  /// The steps that were done once more.
  struct Lost {
    std::int64_t steps = 0;
    Clock::duration time{0};
    bool at_least = false;
  };

  /// A restart: in progress until it has its round, and then until it was reported.
  struct Restart {
    RestartTimes times;
    TimePoint failed, ordered;
    std::optional<TimePoint> stopped;
    enum class Told { kNothing, kWithoutStep, kAll } told = Told::kNothing;
    Told knows() const { return times.first_step_ms < 0 ? Told::kWithoutStep : Told::kAll; }
    /// Returns what was not told yet.
    std::optional<RestartTimes> tell();
  };

  /// The last round that was sealed, until nothing of it is alive.
  struct Round {
    std::optional<Restart> restart;  // that led to it; nullopt: it is the job's first one
    TimePoint sealed;
    int starting = 0;                  // nodes that have not told yet that their workers run
    std::optional<TimePoint> started;  // all of them
    std::optional<TimePoint> moved;    // the first sign of progress
    std::optional<TimePoint> ended;    // when it was asked to stop, because of what happened then
    bool ends_startup = false;         // the job's first sign of progress was in it
    Steps steps;
    /// Workers that have stayed run at once, and do not wait for those that are started.
    bool stayed() const { return restart && restart->times.in_place; }
    TimePoint workers_ran() const { return stayed() ? sealed : started.value_or(sealed); }
    TimePoint end(TimePoint now) const { return ended ? std::min(*ended, now) : now; }
  };

  bool is_of_before(std::int64_t step) const;
  void move(TimePoint when, bool told);
  static void note(Steps& steps, const Advance& seen, TimePoint first_at);
  void close_round(TimePoint now);
  void add_lost(Lost& lost, const Steps& steps) const;
  void count_again();
  void keep() { restarts_.back() = round_->restart->times; }
  TimePoint training_began(TimePoint end) const;
  Clock::duration training_until(TimePoint now) const;
  Clock::duration restarting_until(TimePoint now) const;

  TimePoint begun_;
  std::optional<Round> round_;
  std::optional<Restart> restart_;  // the current one
  Steps before_;                    // in the last round before this one which told any
  std::vector<RestartTimes> restarts_;
  std::optional<RestartTimes> cut_short_;  // a restart that was not told when its round was over
  std::int64_t restarts_so_far_ = 0;
  std::int64_t changes_so_far_ = 0;
  Clock::duration training_{0};             // in rounds that are over
  Clock::duration restarting_{0};           // in restarts before the last one
  std::optional<Clock::duration> startup_;  // nullopt: no progress was seen, in any round
  Lost lost_;                               // in rounds that are over
  bool steps_are_told_ = false;
  bool firsts_are_told_ = false;  // rounds' first steps, so that no other sign of progress counts
};

}  // namespace ddprun
