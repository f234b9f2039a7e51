// A job on several hosts, from here: starts an agent on each over ssh, passes on its output and the
// user's signals, and returns the job's exit code.
#pragma once

#include <boost/asio/io_context.hpp>

#include "agent/agent.hpp"
#include "base/environment.hpp"
#include "launcher/hosts/hosts_job.hpp"

namespace ddprun {

/// Nothing of the job is left on a host that can be reached when it returns. Errors: kNotFound and
/// kDenied for ssh, kInvalid for what cannot be handed over, kUnavailable for want of open files.
Result<int> run_on_hosts(boost::asio::io_context& io, HostsJob job,
                         const EnvironmentLookup& environment, Consoles consoles);

}  // namespace ddprun
