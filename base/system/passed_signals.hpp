// Signals that would end ddprun if it left them alone, and that are meant for its job.
#pragma once

#include <array>
#include <csignal>

namespace ddprun {

/// Whether this process ignores `signal`: `nohup` and shells' background jobs start programs with
/// signals ignored, and mean it.
bool is_ignored(int signal);

/// Signals that programs and schedulers send each other, and that would end ddprun if it left them
/// alone; and the news that the terminal has another size.
inline constexpr std::array kPassedOn{SIGHUP,  SIGINT,  SIGQUIT, SIGTERM, SIGUSR1,
                                      SIGUSR2, SIGALRM, SIGXCPU, SIGWINCH};

}  // namespace ddprun
