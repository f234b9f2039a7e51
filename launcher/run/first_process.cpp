#include "launcher/run/first_process.hpp"

#include <unistd.h>

#include <csignal>

#include "base/system/signals.hpp"

namespace ddprun {

void end_by_signals_as_others_do() {
  if (getpid() != 1) return;
  for (const int signal : kPassedOn) {
    struct sigaction action {};
    if (signal == SIGWINCH || sigaction(signal, nullptr, &action) != 0 ||
        action.sa_handler != SIG_DFL)
      continue;
    action.sa_handler = [](int number) { _exit(128 + number); };
    sigaction(signal, &action, nullptr);
  }
}

}  // namespace ddprun
