// Reads the command line, with torchrun's options and meanings.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "launcher/environments/slurm_step.hpp"
#include "launcher/hosts/hosts_job.hpp"
#include "launcher/settings/launch.hpp"
#include "launcher/settings/meeting.hpp"

namespace ddprun {

/// What a command line asks for: a job here, a text, a job on hosts, or a step of a scheduler.
using CommandLine = std::variant<Launch, JustPrint, HostsJob, StepStart>;

/// Decides what the command line asks for. `arguments` come without the program's own name. Errors:
/// kInvalid, with a sentence that names the option, the value and what is accepted; kNotFound and
/// kDenied for the program to run. `program` is the name by which this program was called, because
/// torchrun has no commands.
Result<CommandLine> parse_command_line(const std::vector<std::string>& arguments,
                                       const LocalSystem& system,
                                       const std::string& program = "ddprun");

/// Reads the job of a command line that `ddprun --hosts` has sent to this host: it is about a job
/// on this node, and `place` says how the hosts meet. Errors: as above.
Result<Launch> parse_launch(const std::vector<std::string>& arguments, const LocalSystem& system,
                            const HostPlace& place);

}  // namespace ddprun
