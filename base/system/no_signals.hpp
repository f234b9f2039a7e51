// NoSignals: signals are for the threads that expect them.
#pragma once

#include <csignal>

namespace ddprun {

/// While it lives, the calling thread takes no signals, and threads that it starts never will: a
/// thread inherits the mask that it is started with.
class NoSignals {
 public:
  NoSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~NoSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace ddprun
