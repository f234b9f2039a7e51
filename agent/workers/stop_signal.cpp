#include "agent/workers/stop_signal.hpp"

#include <algorithm>
#include <csignal>
#include <string_view>

#include "agent/introspection/process_facts.hpp"

namespace ddprun {

namespace {

/// A shell comes to its trap only when its child has ended, so that one has to be told, too.
bool is_shell(pid_t pid) {
  constexpr std::string_view kShells[] = {"sh", "bash", "dash", "ash", "ksh", "zsh"};
  const auto facts = read_process(pid);
  return facts && std::ranges::count(kShells, facts->name) > 0;
}

}  // namespace

bool tell_to_end(const ChildProcess& worker, int signal) {
  const pid_t pid = worker.pid();
  if (signal == SIGINT && ignores_signal(pid, SIGINT)) signal = SIGTERM;
  const bool saves = signal == SIGTERM && !worker.has_ended() && handles_signal(pid, SIGTERM);
  if (saves && !is_shell(pid)) {
    worker.signal(signal);
    return false;
  }
  worker.signal_group(signal);
  return signal == SIGTERM;
}

}  // namespace ddprun
