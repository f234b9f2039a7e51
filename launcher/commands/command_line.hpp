// The command line, with torchrun's options and meanings, becomes a LaunchSpec.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "launcher/hosts/hosts_job.hpp"
#include "launcher/settings/launch.hpp"
#include "launcher/settings/meeting.hpp"
#include "launcher/slurm/slurm_step.hpp"

namespace ddprun {

using CommandLine = std::variant<Launch, JustPrint, HostsJob, SlurmStart>;

/// `arguments`: without the program's own name. Errors: a sentence that names the option, the value
/// and what is accepted; kNotFound and kDenied for the program to run.
Result<CommandLine> parse_command_line(const std::vector<std::string>& arguments,
                                       const Surroundings& surroundings);

/// The job of a command line that `ddprun --hosts` has sent to this host: it is about a job on this
/// node, and `place` says how the hosts meet. Errors: as above.
Result<Launch> parse_launch(const std::vector<std::string>& arguments,
                            const Surroundings& surroundings, const HostPlace& place);

}  // namespace ddprun
