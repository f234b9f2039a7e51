// RestartClock measures what each restart of a job costs, and where the time of the job goes.
//
// It is passive: CoordinatorMachine tells it what happens, and when. What the parts of a restart
// are says RestartTimes.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "rendezvous/messages/job_times.hpp"

namespace ddprun {

class RestartClock {
 public:
  /// A restart is told without a first step when none comes for so long after the workers' start: a
  /// training may need minutes for it, and many do not tell their steps.
  static constexpr std::chrono::seconds kFirstStepPatience{10};

  explicit RestartClock(TimePoint begun) : begun_{begun} {}

  /// The round is told to stop. The reason for it had happened so long before. `in_place`: workers
  /// that can stay do.
  void stop_ordered(int round, std::string reason, bool in_place, Clock::duration noticed_after,
                    TimePoint now);

  /// Those that could stay are started anew after all.
  void nobody_stays() {
    if (restart_) restart_->times.in_place = false;
  }
  /// Nothing of the round that was told to stop is alive any more.
  void stopped(TimePoint now);

  /// A round begins on so many nodes that will tell when they have started their workers.
  void sealed(int round, int nodes_that_tell, TimePoint now);

  /// One of these nodes has started its workers.
  void started(TimePoint now);

  /// A worker of the round went on at that time: a collective was done, or a step. `step`: the last
  /// one that it has done; -1: it does not tell.
  void progressed(std::int64_t step, TimePoint when);

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
  /// How far the training was at a time.
  struct Step {
    std::int64_t number = 0;
    TimePoint at;
  };

  /// The last round that was sealed.
  struct Round {
    bool restarted = false;  // it is not the job's first one
    TimePoint sealed;
    int starting = 0;                  // nodes that have not told yet that their workers run
    std::optional<TimePoint> started;  // all of them
    std::optional<TimePoint> moved;    // the first sign of progress
    std::optional<Step> first, last;   // that were told; `last` is the greatest
    TimePoint workers_ran() const { return started.value_or(sealed); }
    /// A program whose progress nobody sees trains all the time, as far as one knows.
    TimePoint training_began() const { return moved.value_or(workers_ran()); }
  };

  /// The last restart: under way until it has its round, and then until it was told.
  struct Restart {
    RestartTimes times;
    TimePoint failed, ordered;
    std::optional<TimePoint> stopped;
    bool has_round = false;
    enum class Told { kNothing, kWithoutStep, kAll } told = Told::kNothing;
    Told knows() const { return times.first_step_ms < 0 ? Told::kWithoutStep : Told::kAll; }
  };

  bool is_of_before(std::int64_t step) const;
  void finish_round(TimePoint end);
  void count_lost(const Step& first_after);
  void keep();
  std::optional<RestartTimes> tell();
  Clock::duration training_until(TimePoint now) const;
  Clock::duration restarting_until(TimePoint now) const;

  TimePoint begun_;
  std::optional<Round> round_;  // nullopt: none runs
  std::optional<Restart> restart_;
  std::optional<Step> last_before_;  // the round before's, until the next one tells a step
  Clock::duration step_before_{0};   // the time of a step there
  std::vector<RestartTimes> restarts_;
  std::optional<RestartTimes> cut_short_;  // a restart that was not told when its round was stopped
  std::int64_t restarts_so_far_ = 0;
  Clock::duration training_{0};    // in rounds that are over
  Clock::duration restarting_{0};  // in restarts before the last one
  std::int64_t lost_steps_ = 0;
  Clock::duration lost_{0};
  bool steps_are_told_ = false;
  bool progress_is_seen_ = false;  // a step or a collective was, in any round
};

}  // namespace ddprun
