// SleepSamples: where a rank sleeps while others wait for it, by some looks at its stack. Pure.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>

#include "base/clock.hpp"
#include "rendezvous/messages/inspect_messages.hpp"

namespace ddprun {

/// This many looks are made, in about three seconds. A place counts that this many of them have
/// seen.
inline constexpr int kSleepLooks = 10;
inline constexpr int kSleepSeenMin = 2;
/// From one look to the next. Each pause is longer than the one before, so that looks do not always
/// come at the same place of a step.
inline constexpr std::chrono::milliseconds kSleepPause{200};
inline constexpr std::chrono::milliseconds kSleepPauseGrows{27};

class SleepSamples {
 public:
  /// The first look at the rank is due at `now`.
  SleepSamples(int rank, TimePoint now) : rank_{rank}, due_{now} {}

  int rank() const { return rank_; }

  /// When the next look is due; nullopt: there were enough.
  std::optional<TimePoint> due() const;
  /// Returns the question of the look that is due, for the node of the rank. No other inspection of
  /// the job has its number.
  Inspect ask(int round, int number, TimePoint now);
  /// Notes an answer. One to another question is passed over.
  void take(const Inspected& answer);

  /// "in 6 of 10 looks it waits for its data loader at main (train.py:31)"; "": it did not sleep
  /// often enough at any place.
  std::string sentence() const;

 private:
  int rank_;
  TimePoint due_;
  int asked_ = 0;
  int answered_ = 0;
  int number_ = 0;                   // the pending question's; 0: there is none
  std::map<std::string, int> seen_;  // how often it has done that
};

}  // namespace ddprun
