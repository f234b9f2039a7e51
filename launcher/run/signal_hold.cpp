#include "launcher/run/signal_hold.hpp"

namespace ddprun {

SignalHold::SignalHold(const std::vector<int>& signals) {
  sigemptyset(&set_);
  for (const int signal : signals) sigaddset(&set_, signal);
  hold();
}

void SignalHold::hold() { sigprocmask(SIG_BLOCK, &set_, nullptr); }

void SignalHold::release() { sigprocmask(SIG_UNBLOCK, &set_, nullptr); }

void SignalHold::only_interrupt() {
  for (int signal = 1; signal < NSIG; ++signal) {
    struct sigaction action {};
    if (sigismember(&set_, signal) != 1 || sigaction(signal, nullptr, &action) != 0 ||
        action.sa_handler == SIG_IGN)
      continue;
    action = {};
    action.sa_handler = [](int) {};
    sigaction(signal, &action, nullptr);
  }
}

}  // namespace ddprun
