// Here a process asks the system about itself and its machine, and puts itself in order.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/environment.hpp"
#include "base/result.hpp"

namespace ddprun {

/// Returns all variables of this process's environment as "NAME=value" (environ(7)).
std::vector<std::string> own_environment();

/// The variable of this process's environment; nullopt when it is not set.
std::optional<std::string> own_variable(const std::string& name);

/// Takes the variable `name` out of this process's environment, and overwrites its value there, so
/// that neither /proc/PID/environ nor a process that is started later has it. Returns the value;
/// nullopt when it was not set. To be called while there is one thread.
std::optional<std::string> take_variable(const std::string& name);

/// Returns the path of this executable (/proc/self/exe, proc(5)); "" where /proc is not mounted.
std::string own_path();

/// Opens /dev/null as each of the three standard files that is closed, so that no other file gets
/// its number, into which messages or output of workers would then go. To be called before others.
void open_standard_files();

/// Whether this process may start a thread. Errors: kUnavailable, where the user has too many
/// processes (RLIMIT_NPROC), or where a container's filter is older than the C library and refuses
/// clone3(2).
Result<void> may_start_threads();

/// Returns the folders for temporary files in the order in which Python's tempfile tries them:
/// TMPDIR, if it is set, /tmp and /var/tmp. They need not be there.
std::vector<std::string> temporary_folders(const EnvironmentLookup& environment);

/// Whether this process may make files in a folder.
bool may_write_in(const std::string& folder);

/// Returns those of temporary_folders() that are on a disk of this machine, for files that serve
/// its processes alone: where a server does not answer, these would hold the job up. Where none of
/// them can be written to, it returns all.
std::vector<std::string> private_folders(const EnvironmentLookup& environment);

/// Returns this machine's name (gethostname(2)).
std::string host_name();

}  // namespace ddprun
