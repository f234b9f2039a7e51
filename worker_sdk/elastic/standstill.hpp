// Standstill: whether a worker that is to leave its world waits for the other members without an
// end. The module for Python has the same (worker_sdk/python/ddprun/_standstill.py). Pure.
//
// Their connections are shut down, so each call that waits for them should fail. Now and then Gloo
// does not wake its caller: 2 of 900 times under load, in UnboundBuffer::waitSend. Only the group's
// own timeout ends such a wait.
#pragma once

#include <chrono>

#include "worker_sdk/group/waits.hpp"

namespace ddprun::sdk {

/// A thread that has run for this long does something.
inline constexpr std::chrono::milliseconds kRunsTime{10};
/// A call that fails does so within milliseconds.
inline constexpr std::chrono::seconds kStuckTime{1};

class Standstill {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  /// `ran`: the processor time of the thread that waits.
  Standstill(const Waits& waits, std::chrono::nanoseconds ran, TimePoint now)
      : waits_{waits}, ran_{ran}, since_{now} {}

  /// Whether calls have waited for other ranks for kStuckTime, and meanwhile none has begun or
  /// ended, and the thread has not run; once.
  bool is_new(const Waits& waits, std::chrono::nanoseconds ran, TimePoint now);

 private:
  Waits waits_;
  std::chrono::nanoseconds ran_;
  TimePoint since_;  // nothing has changed
  bool is_told_ = false;
};

}  // namespace ddprun::sdk
