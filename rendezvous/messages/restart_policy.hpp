// RestartPolicy: which restarts a job's --max-restarts counts, how long one waits for the next, and
// when a job gives up before they are spent. Pure.
#pragma once

#include <cstdint>
#include <string>

namespace ddprun {

/// Which of the restarts after failures --max-restarts counts.
enum class CountedRestarts {
  kAll,            // "3": those of the whole job, as torchrun does
  kWithinWindow,   // "3/1h": those of the last hour
  kSinceProgress,  // "3@progress": those since the job was further than ever before
};

/// A window holds at most this many restarts: their times are kept.
inline constexpr int kRestartsPerWindowMax = 1000;

struct RestartPolicy {
  CountedRestarts counted = CountedRestarts::kAll;
  std::int64_t window_ms = 0;     // how long a window is; 0: there is none
  std::int64_t delay_min_ms = 0;  // the pause before a restart
  std::int64_t delay_max_ms = 0;  // and what it grows to while restarts gain nothing
  /// This many failures with the same cause, and no step gained between them, end the job; 0: they
  /// do not.
  int same_failure_limit = 0;
  bool operator==(const RestartPolicy&) const = default;
};

/// A time in the greatest unit that divides it, as the command line takes it: "1h", "90s", "1.5s".
std::string span_text(std::int64_t ms);
/// A budget as --max-restarts spells it: "3", "3/1h", "3@progress".
std::string budget_text(int restarts_max, const RestartPolicy& policy);
/// A pause as --restart-delay spells it: "0:60s", "5s"; "0": there is none.
std::string delay_text(const RestartPolicy& policy);
/// The number of a restart, for people: "2 of 3", "7 (--max-restarts 3/1h)".
std::string restart_number_text(int restart, int restarts_max, const RestartPolicy& policy);

}  // namespace ddprun
