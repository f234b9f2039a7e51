// Heartbeat: tells the agent of ddprun how far this worker is. No LibTorch.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

namespace ddprun::sdk {

class HeartbeatSlot;

/// Writes the worker's step, loss and speed where ddprun sees them, also after the worker was
/// killed. When the worker fails, ddprun says how far it had come: "last heartbeat: step 120, loss
/// 0.31, 1,234 samples/s, 0.4 s before". Without ddprun, or where its memory cannot be reached (in
/// a container of the worker's own), it does nothing. Used by one thread.
class Heartbeat {
 public:
  static constexpr double kNoLoss = std::numeric_limits<double>::quiet_NaN();

  /// Finds the agent of ddprun by the variable DDPRUN_HEARTBEAT.
  Heartbeat();
  /// Finds it at `address`, the value of that variable; nullopt when it is not set.
  explicit Heartbeat(const std::optional<std::string>& address);
  ~Heartbeat();
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

  /// Tells that step `step` is done; call it after every step. `samples` is how many samples this
  /// rank has seen in it; samples per second are their mean over the last second or more. A call
  /// reads a clock and writes to memory, and takes less than a microsecond.
  void beat(std::int64_t step, std::int64_t samples = 0, double loss = kNoLoss);
  /// Beats at `now_ns`, nanoseconds of CLOCK_MONOTONIC, for a caller that has read it.
  void beat_at(std::int64_t now_ns, std::int64_t step, std::int64_t samples, double loss);

  /// Tells how many steps the whole training has, so that `ddprun status` shows how much of it is
  /// done and how long the rest takes. It is seen with the next beat.
  void set_total_steps(std::int64_t steps) { total_steps_ = steps; }

  /// True when an agent listens.
  bool connected() const { return slot_ != nullptr; }

 private:
  void update_rate(std::int64_t now_ns, std::int64_t samples);

  void* memory_ = nullptr;
  std::size_t memory_bytes_ = 0;
  HeartbeatSlot* slot_ = nullptr;
  std::int64_t total_steps_ = 0;
  std::optional<std::int64_t> window_begin_ns_;  // nullopt: before the first beat
  std::int64_t window_samples_ = 0;
  bool has_full_window_ = false;
  double samples_per_second_ = 0;
};

}  // namespace ddprun::sdk
