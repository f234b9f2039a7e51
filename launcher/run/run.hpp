// Runs a job on this node, from its LaunchSpec to the exit code.
#pragma once

#include <functional>

#include "agent/decisions/agent_end.hpp"
#include "agent/output/console.hpp"
#include "agent/reports/job_report.hpp"
#include "agent/workers/worker_plan.hpp"
#include "base/environment.hpp"

namespace ddprun {

/// Functions that are called while the job runs.
struct RunEvents {
  /// The coordinator serves here, and workers and other nodes find it at this address. The host ""
  /// stands for this machine: its coordinator follows one that was lost.
  std::function<void(const Endpoint& coordinator)> listening = [](const Endpoint&) {};
  /// The agent has ended; nothing of its workers is left.
  std::function<void(const AgentEnd& end)> ended = [](const AgentEnd&) {};
  /// A report is to be written: of a hang, and at the end of the job.
  std::function<void(const JobReport& report)> reported = [](const JobReport&) {};
};

/// Hosts the coordinator, runs the agent, and reports how the job ended. Returns the exit code (see
/// exit_code.hpp), or an Error when the job could not begin.
Result<int> run(boost::asio::io_context& io, const LaunchSpec& spec,
                const EnvironmentLookup& environment, Console& out, Console& err,
                const RunEvents& events = {});

}  // namespace ddprun
