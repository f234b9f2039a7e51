#include "agent/job_signals.hpp"

#include <algorithm>
#include <set>

namespace ddprun {

bool is_ignored(int signal) {
  struct sigaction action {};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

std::vector<int> signals_for(const LaunchSpec& spec) {
  std::set<int> signals{kPassedOn.begin(), kPassedOn.end()};
  signals.insert(spec.preempt_signals.begin(), spec.preempt_signals.end());
  signals.insert(spec.stop_signals.begin(), spec.stop_signals.end());
  std::erase_if(signals, is_ignored);
  return {signals.begin(), signals.end()};
}

AgentEvent meaning_of(int signal, const LaunchSpec& spec) {
  if (std::ranges::count(spec.preempt_signals, signal) > 0) return EndAnnounced{signal};
  if (std::ranges::count(spec.stop_signals, signal) > 0) return StopSignal{signal};
  return PassOn{signal};
}

}  // namespace ddprun
