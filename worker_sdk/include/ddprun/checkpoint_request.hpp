// CheckpointRequest: whether ddprun has asked for a checkpoint, because the scheduler is about to
// end the job. Needs no LibTorch.
//
// The ranks are asked at about the same time, not in the same step: they have to agree on the step,
// for example by an all_reduce of requested() with MAX. A worker that has written its checkpoint
// may exit, with any code; the job ends as preempted, and goes on from there when it is run again.
#pragma once

#include <atomic>
#include <csignal>

namespace ddprun::sdk {

/// The signal that asks for a checkpoint if no other was named.
inline constexpr int kCheckpointSignal = SIGUSR1;

/// Returns the signal that this worker's ddprun sends, which its option --checkpoint-signal names
/// and the variable DDPRUN_CHECKPOINT_SIGNAL tells as a number. Without ddprun it is
/// kCheckpointSignal. Errors: EnvironmentError, when the variable holds no signal's number.
int checkpoint_signal();

/// Takes note of the signal for the whole process: all instances answer alike.
class CheckpointRequest {
 public:
  /// Installs a handler: from now on `signal` does nothing but count as a request.
  explicit CheckpointRequest(int signal = checkpoint_signal()) {
    struct sigaction action {};
    action.sa_handler = [](int) { came_ = true; };
    action.sa_flags = SA_RESTART;
    sigaction(signal, &action, nullptr);
  }

  /// True as soon as the signal has come once. It never becomes false again.
  bool requested() const { return came_; }

 private:
  static_assert(std::atomic<bool>::is_always_lock_free);  // as a signal handler needs it
  static inline std::atomic<bool> came_ = false;
};

}  // namespace ddprun::sdk
