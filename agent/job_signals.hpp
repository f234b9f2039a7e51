// Signals that reach ddprun and are meant for its job.
#pragma once

#include <array>
#include <csignal>

namespace ddprun {

/// `nohup` and shells' background jobs start programs with signals ignored, and mean it.
inline bool is_ignored(int signal) {
  struct sigaction action {};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

/// Signals that programs and schedulers send each other, and that would end ddprun if it left them
/// alone; and the news that the terminal has another size.
inline constexpr std::array kPassedOn{SIGHUP,  SIGINT,  SIGQUIT, SIGTERM, SIGUSR1,
                                      SIGUSR2, SIGALRM, SIGXCPU, SIGWINCH};

}  // namespace ddprun
