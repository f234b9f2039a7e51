#include "agent/workers/leftovers.hpp"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <string>
#include <utility>

#include "agent/decisions/agent_events.hpp"
#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/process/process_facts.hpp"
#include "base/process/process_tree.hpp"
#include "rendezvous/messages/job_terms.hpp"

namespace ddprun {

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
