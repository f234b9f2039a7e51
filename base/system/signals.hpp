// Which signals a thread takes, and which ones are meant for the job.
#pragma once

#include <array>
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

/// Whether this process ignores `signal`: `nohup` and shells' background jobs start programs with
/// signals ignored, and mean it.
bool is_ignored(int signal);

/// Signals that programs and schedulers send each other, and that would end ddprun if it left them
/// alone; and the news that the terminal has another size.
inline constexpr std::array kPassedOn{SIGHUP,  SIGINT,  SIGQUIT, SIGTERM, SIGUSR1,
                                      SIGUSR2, SIGALRM, SIGXCPU, SIGWINCH};

}  // namespace ddprun
