// Holds signals back at the two ends of a run, where they have no handler. Otherwise
// ddprun could die with its temporary files left behind, or with another exit code than the job's.
#pragma once

#include <csignal>
#include <vector>

namespace ddprun {

class SignalHold {
 public:
  /// Blocks `signals`. One that comes stays pending; those that are ignored stay ignored.
  explicit SignalHold(const std::vector<int>& signals);
  SignalHold(const SignalHold&) = delete;
  SignalHold& operator=(const SignalHold&) = delete;

  /// Blocks them again.
  void hold();

  /// Lets them through, and those that are pending. Somebody has to handle them from now on.
  void release();

  /// Is called while they are held. From now on they do nothing but interrupt a wait that lets them
  /// through (ppoll(2), see Console::flush_blocking).
  void only_interrupt();

 private:
  sigset_t set_;
};

}  // namespace ddprun
