// WorkerWatch: turns looks at one worker into reports of its changes. Pure.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/strain_rates.hpp"
#include "rendezvous/messages/progress.hpp"
#include "rendezvous/messages/straggler.hpp"

namespace ddprun {

/// What one look has seen.
struct WorkerLook {
  bool deep = false;  // the worker's server and its use of the CPU were looked at, too
  // What deep looks have found:
  bool watched = false;                              // the server has answered
  std::optional<std::vector<GroupProgress>> groups;  // nullopt: it did not tell
  std::string waits_in;
  std::vector<GroupArrivals> arrivals;  // in microseconds since 1970
  std::optional<StrainRates> strain;    // since the look before
  std::chrono::milliseconds cpu{0};     // that its processes have used so far
  std::chrono::milliseconds wanted{0};  // that its main thread has used or waited for
  std::chrono::milliseconds asked{0};   // that this look may have cost it
  // What all looks have found, as far as the worker shows it:
  std::optional<std::int64_t> step;
  std::int64_t first_step = -1;  // the round's; -1: it has not told
  TimePoint first_at;            // when that was done
  std::int64_t steps = 0;
  std::optional<double> loss;
  double samples_per_second = 0;
  std::int64_t left_s = -1;
};

/// How often workers are looked at.
struct LookIntervals {
  std::chrono::milliseconds light{1'000};
  std::chrono::milliseconds deep{16'000};
  std::chrono::milliseconds idle{60'000};  // a worker that has not used the CPU for this long
                                           // sleeps
};

/// A look into torch takes up to 50 ms of the worker's time. So it is rare, unless the user has
/// asked for a short timeout (see JobTerms).
LookIntervals look_intervals(std::chrono::milliseconds hang_timeout);

/// What a worker may use of the CPU, and still sleeps: an hundredth, and some for its other
/// threads.
inline constexpr int kIdlePart = 100;
inline constexpr std::chrono::milliseconds kIdleCpu{20};
/// No look costs a worker more than that, however long it waits for the answer.
inline constexpr std::chrono::milliseconds kLookCostMax{60};
/// What no worker uses that is only on its way on an overloaded machine.
inline constexpr std::chrono::milliseconds kBusyCpu{10'000};

/// A deep look that is due.
struct NextLook {
  TimePoint due;
  std::int64_t second = 0;  // the time of day, since 1970
};
/// Looks at all workers of a job are to be at the same moments, so that what they show has
/// collectives in common: when the time of day is a multiple of the pause, where that is a second
/// or longer.
NextLook next_deep_look(TimePoint now, std::int64_t unix_us, std::chrono::milliseconds pause);

class WorkerWatch {
 public:
  WorkerWatch(int rank, LookIntervals intervals) : intervals_{intervals} { told_.rank = rank; }
  /// The worker has stayed from the round before, where `before` was all(): what was seen of it
  /// there is no progress of this round, and its waits there are over.
  WorkerWatch(int rank, LookIntervals intervals, RankProgress before)
      : WorkerWatch{rank, intervals} {
    told_.stayed = true;
    before_ = std::move(before);
  }

  /// Returns what to report after this look, at `now`; nullopt: nothing new.
  std::optional<RankProgress> take(const WorkerLook& look, TimePoint now);

  int rank() const { return told_.rank; }

  /// All that was seen of the worker, in this round and in those before. `step` is the last one
  /// that it has reported by now, if any.
  RankProgress all(std::optional<std::int64_t> step) const;

  /// Returns what to report when the worker has ended with code 0.
  RankProgress end(TimePoint now);

  /// The time from a deep look that took `duration` to the next one. In the beginning it is short,
  /// until the worker has shown its first progress.
  std::chrono::milliseconds deep_pause(std::chrono::milliseconds duration) const;

 private:
  std::chrono::milliseconds look_time(const RankProgress& seen) const;
  void note_step(const WorkerLook& look, RankProgress& seen);
  void date(RankProgress& seen, TimePoint now) const;
  void note_cpu(const WorkerLook& look, TimePoint now, RankProgress& seen);

  LookIntervals intervals_;
  RankProgress before_;  // earlier rounds showed that
  RankProgress told_;
  bool told_anything_ = false;
  std::optional<TimePoint> since_;  // since when the told progress is true
  TimePoint seen_;                  // the last look that saw it, and would have seen another
  TimePoint first_at_;              // the round's first step

  struct CpuUse {
    std::chrono::milliseconds cpu{0};
    std::chrono::milliseconds wanted{0};
    TimePoint time;
    std::chrono::milliseconds asked{0};  // time asked for, by all looks so far
  };
  std::optional<CpuUse> first_use_;  // that a deep look has seen since `since_`
  CpuUse last_use_;                  // that the last deep look has seen
  std::optional<TimePoint> asleep_since_;
};

}  // namespace ddprun
