// The folders of a run: where its files are, and which of them may hang.
#pragma once

#include <string>

#include "agent/spec/launch_spec.hpp"
#include "base/environment.hpp"
#include "base/result.hpp"
#include "launcher/run/run_directory.hpp"

namespace ddprun {

/// Where files are that serve the processes of this machine alone, not its users.
std::string private_directory(const EnvironmentLookup& environment);

/// Makes the run's directory in --log-dir, which the user looks into; else in a temporary
/// directory, TMPDIR first where log files are wanted. Nothing stays there that was not asked
/// for. Errors: as those of RunDirectory::make().
Result<RunDirectory> make_run_directory(const LogSpec& logs, const std::string& run_id,
                                        const EnvironmentLookup& environment);

/// Touches the places that the user has named and that are used while signals are held. Where one
/// hangs, this waits for it, and a signal ends the wait.
void await_folders(const LaunchSpec& spec, const EnvironmentLookup& environment);

}  // namespace ddprun
