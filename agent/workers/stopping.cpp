#include "agent/workers/stopping.hpp"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/decisions/agent_events.hpp"
#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/process/process_facts.hpp"
#include "base/process/process_tree.hpp"
#include "rendezvous/messages/job_terms.hpp"

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
  return std::ranges::none_of(read_command_line(pid), [](const std::string& word) {
    return word == "--foreground" || word == "-f";
  });
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

namespace {

/// They are named until the line has this many characters.
constexpr std::size_t kNamesMax = 100;

}  // namespace

asio::awaitable<void> Leftovers::end(Spared spared, bool at_once) {
  spared_ = std::move(spared);
  kills_ = kills_ || at_once;
  co_await let_end();
  if (const int left = co_await kill_descendants(kSweepTimeout, spared_))
    log::warn("{} processes of the job could not be killed within {} s", left,
              kSweepTimeout.count() / 1000);
  kills_ = false;
  spared_ = nullptr;
  signaled_.clear();
}

/// When one of them has ended, its children are children of this process, and need the signal, too.
asio::awaitable<void> Leftovers::let_end() {
  const std::function<bool()> is_over = [this] { return kills_; };
  for (;;) {
    co_await await_descendants(Clock::now() + kEndsByItself, spared_, is_over);
    if (kills_ || children_but(spared_()).empty()) co_return;
    tell();
  }
}

/// Those that got the signal before continue with what they do about it. One that ignores it has
/// missed it, or it would not be alive: a shell loses a signal that comes while it forks.
void Leftovers::tell() {
  std::string names;
  for (const pid_t pid : children_but(spared_())) {
    if (std::ranges::count(signaled_, pid) > 0) continue;
    signaled_.push_back(pid);
    const pid_t group = getpgid(pid);
    const bool was_signaled = std::ranges::count(signaled_groups_, group) > 0;
    const bool takes_it = handles_signal(pid, SIGTERM) || awaits_signal(pid, SIGTERM);
    if (was_signaled && takes_it) continue;
    if (const auto facts = read_process(pid); facts && !was_signaled && names.size() < kNamesMax)
      names += (names.empty() ? "" : ", ") + std::to_string(pid) + " (" + facts->name + ")";
    kill(group == pid ? -pid : pid, SIGTERM);
    if (group == pid) signaled_groups_.push_back(pid);
  }
  if (!names.empty()) log::warn("workers have left processes behind, which get SIGTERM: {}", names);
}

void Leftovers::kill_all() {
  kills_ = true;
  if (!spared_) return;  // end() is about to begin
  for (const pid_t pid : children_but(spared_())) kill(pid, SIGKILL);
}

void Leftovers::kill_group(pid_t worker) {
  if (worker <= 0) return;
  kill(-worker, SIGTERM);
  for (const pid_t pid : children_but({worker}))
    if (getpgid(pid) == worker && !ignores_signal(pid, SIGTERM)) kill(pid, SIGKILL);
}

}  // namespace ddprun
