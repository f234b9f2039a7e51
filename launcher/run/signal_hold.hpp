// Signals at the two ends of a run, where nobody is there to handle them: they wait, so that ddprun
// neither dies with its temporary files left behind nor with another exit code than the job's.
#pragma once

#include <csignal>
#include <vector>

namespace ddprun {

class SignalHold {
 public:
  /// Blocks `signals`: what comes stays pending. Those that are ignored stay ignored.
  explicit SignalHold(const std::vector<int>& signals);
  SignalHold(const SignalHold&) = delete;
  SignalHold& operator=(const SignalHold&) = delete;

  /// As at the beginning.
  void hold();

  /// Somebody handles them now: pending ones are delivered.
  void release();

  /// While they are held: from now on they do nothing but interrupt a wait that lets them through
  /// (ppoll(2), see Console::flush_blocking).
  void only_interrupt();

 private:
  sigset_t set_;
};

}  // namespace ddprun
