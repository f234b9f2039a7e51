// TimerTable: the timers that processes of this node have set for themselves, and which of them
// have expired. Pure.
//
// A process asks for a timer by a line in a pipe, and takes it back by another one. The lines are
// those of torch's FileTimerClient (torch/distributed/elastic/timer/file_based_local_timer.py),
// 4096 bytes at most, so that the kernel never mixes two of them:
//
//     {"version": 1, "pid": 71, "scope_id": "train.py#12", "expiration_time": 1790000000.5,
//     "signal": 9}
//
// The time is that of day, in seconds since 1970; a negative one takes the timer of that process
// and scope back. The signal is for the process when the timer expires; 0 or less: none.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.hpp"

namespace ddprun {

/// 1: workers are to have a pipe for timers.
inline constexpr char kFileTimerVariable[] = "TORCHELASTIC_ENABLE_FILE_TIMER";
/// Where the user wants it, and where workers find it.
inline constexpr char kTimerFileVariable[] = "TORCHELASTIC_TIMER_FILE";

/// A process whose timer has expired.
struct ExpiredTimer {
  pid_t pid = 0;
  int signal = 0;     // that the process has asked for; 0: none
  std::string scope;  // one printable line, 200 bytes at most
  std::chrono::milliseconds after{0};
};

/// "timer 'train.py#12' expired after 2 s".
std::string describe(const ExpiredTimer& timer);

inline constexpr std::size_t kTimersMax = 10'000;
inline constexpr std::size_t kTimerLineMax = 8'192;

class TimerTable {
 public:
  /// Takes bytes of the pipe, which came at `now`, when it was `unix_time` by the time of day. A
  /// timer counts from there: a later change of the machine's clock ends no worker. Returns a
  /// sentence about the first line ever that is none; usually "".
  std::string take(std::string_view bytes, TimePoint now, std::chrono::milliseconds unix_time);

  /// When the next timer expires; nullopt: there is none.
  std::optional<TimePoint> next_due() const;

  /// Returns what has expired at `now`, one timer a process: of those with a signal the first. It
  /// forgets them, and all others of a process that gets a signal.
  std::vector<ExpiredTimer> take_expired(TimePoint now);

  /// Forgets all timers.
  void clear();

 private:
  using Key = std::pair<pid_t, std::string>;
  struct Timer {
    TimePoint due;
    std::chrono::milliseconds after;
    int signal;
  };
  bool take_line(std::string_view line, TimePoint now, std::chrono::milliseconds unix_time);

  std::map<Key, Timer> timers_;
  std::string line_;  // the part of the next one that has come
  bool overlong_ = false;
  bool complained_ = false;
};

}  // namespace ddprun
