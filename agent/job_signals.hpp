// The signals that reach ddprun, and what each of them means for its job.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/signal_set.hpp>
#include <functional>
#include <vector>

#include "agent/decisions/agent_events.hpp"
#include "agent/spec/launch_spec.hpp"
#include "base/asio.hpp"
#include "base/system/signals.hpp"

namespace ddprun {

/// All signals that an agent listens for, each once: those that the spec names and kPassedOn,
/// without those that this process ignores.
std::vector<int> signals_for(const LaunchSpec& spec);

/// What one of them means: EndAnnounced for those that ask for a checkpoint first, whatever else
/// they are, then StopSignal for those that ddprun obeys, and PassOn for all others.
AgentEvent meaning_of(int signal, const LaunchSpec& spec);

/// Listens for an agent's signals from when it is made.
class SignalWatch {
 public:
  SignalWatch(const asio::any_io_executor& executor, const LaunchSpec& spec);
  SignalWatch(const SignalWatch&) = delete;

  /// `heard` is called for each signal of signals_for(). `child_ended` is called now, and when
  /// children of this process have ended. To be called once.
  void begin(std::function<void(int signal)> heard, std::function<void()> child_ended);
  /// Nothing is reported any more.
  void end();

 private:
  asio::awaitable<void> hear();

  asio::any_io_executor executor_;
  asio::signal_set signals_;
  asio::signal_set child_ends_;  // SIGCHLD
  std::function<void(int)> heard_;
  bool ended_ = false;
};

}  // namespace ddprun
