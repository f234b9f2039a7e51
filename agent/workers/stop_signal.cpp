#include "agent/workers/stop_signal.hpp"

#include <algorithm>
#include <csignal>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/process/process_facts.hpp"
#include "base/system/whole_file.hpp"

namespace ddprun {

namespace {

/// A shell runs its trap only when its child has ended, so the child needs the signal, too.
bool is_shell(pid_t pid) {
  constexpr std::string_view kShells[] = {"sh", "bash", "dash", "ash", "ksh", "zsh"};
  const auto facts = read_process(pid);
  return facts && std::ranges::count(kShells, facts->name) > 0;
}

/// timeout(1) of coreutils hands a signal on to all of its group. With --foreground it does not.
bool tells_group(pid_t pid) {
  const auto facts = read_process(pid);
  if (!facts || facts->name != "timeout") return false;
  using namespace std::string_view_literals;
  const std::string words = text_if_any("/proc/" + std::to_string(pid) + "/cmdline");
  return words.find("\0--foreground\0"sv) == std::string::npos &&
         words.find("\0-f\0"sv) == std::string::npos;
}

/// The processes that handle the signal, of a worker and all below it, without those below them: a
/// process that was forked has its parent's handler.
std::vector<pid_t> topmost_handlers(pid_t worker, int signal) {
  std::vector<pid_t> handlers;
  std::set<pid_t> passed{worker};  // no process above these has a handler, and they are looked at
  if (handles_signal(worker, signal)) return {worker};
  for (const ProcessFacts& process : read_process_tree(worker)) {
    if (process.pid == worker || passed.count(process.parent) == 0) continue;
    if (handles_signal(process.pid, signal))
      handlers.push_back(process.pid);
    else
      passed.insert(process.pid);
  }
  return handlers;
}

}  // namespace

bool tell_to_end(const ChildProcess& worker, int signal) {
  const pid_t pid = worker.pid();
  if (signal == SIGINT && ignores_signal(pid, SIGINT)) signal = SIGTERM;
  if (!worker.has_ended() && tells_group(pid)) {
    worker.signal(signal);
    return signal == SIGTERM;
  }
  const bool saves = signal == SIGTERM && !worker.has_ended() && handles_signal(pid, SIGTERM);
  if (saves && !is_shell(pid)) {
    worker.signal(signal);
    return false;
  }
  worker.signal_group(signal);
  return signal == SIGTERM;
}

bool ask_for_checkpoint(const ChildProcess& worker, int signal) {
  const std::vector<pid_t> handlers = topmost_handlers(worker.pid(), signal);
  for (const pid_t pid : handlers) kill(pid, signal);
  return !handlers.empty();
}

}  // namespace ddprun
