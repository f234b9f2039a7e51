#include "agent/job_signals.hpp"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <set>
#include <utility>

#include "base/coroutines.hpp"
#include "base/process/process_tree.hpp"

namespace ddprun {

std::vector<int> signals_for(const LaunchSpec& spec) {
  std::set<int> signals{kPassedOn.begin(), kPassedOn.end()};
  signals.insert(spec.preemption.signals.begin(), spec.preemption.signals.end());
  signals.insert(spec.stop_signals.begin(), spec.stop_signals.end());
  std::erase_if(signals, is_ignored);
  return {signals.begin(), signals.end()};
}

AgentEvent meaning_of(int signal, const LaunchSpec& spec) {
  if (std::ranges::count(spec.preemption.signals, signal) > 0) return EndAnnounced{signal};
  if (std::ranges::count(spec.stop_signals, signal) > 0) return StopSignal{signal};
  return PassOn{signal};
}

SignalWatch::SignalWatch(const asio::any_io_executor& executor, const LaunchSpec& spec)
    : executor_{executor}, signals_{executor}, child_ends_{executor, SIGCHLD} {
  for (const int signal : signals_for(spec)) signals_.add(signal);
}

void SignalWatch::begin(std::function<void(int)> heard, std::function<void()> child_ended) {
  heard_ = std::move(heard);
  auto reaping = keep_reaping(child_ends_, [this, reap = std::move(child_ended)] {
    reap();
    return !ended_;
  });
  start_coroutine(executor_, std::move(reaping), report_failure("reaping orphans"));
  start_coroutine(executor_, hear(), report_failure("waiting for signals"));
}

void SignalWatch::end() {
  ended_ = true;
  signals_.cancel();
  child_ends_.cancel();
}

asio::awaitable<void> SignalWatch::hear() {
  while (!ended_) {
    const auto [error, signal] = co_await signals_.async_wait(asio::as_tuple(asio::use_awaitable));
    if (error) co_return;
    heard_(signal);
  }
}

}  // namespace ddprun
