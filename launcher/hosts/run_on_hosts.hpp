// Runs a job on several hosts from here. It starts an agent on each over ssh, and passes on its
// output and the user's signals.
#pragma once

#include <boost/asio/io_context.hpp>

#include "agent/output/console.hpp"
#include "base/environment.hpp"
#include "launcher/hosts/hosts_job.hpp"

namespace ddprun {

/// Returns the job's exit code; then nothing of the job is left on a host that can be reached.
/// Errors: kNotFound and kDenied for ssh, kInvalid for arguments that cannot be handed over,
/// kUnavailable when too few files can be opened.
Result<int> run_on_hosts(boost::asio::io_context& io, HostsJob job,
                         const EnvironmentLookup& environment, Consoles consoles);

}  // namespace ddprun
