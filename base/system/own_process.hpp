// Here a process asks the system about itself and its machine.
#pragma once

#include <optional>
#include <string>
#include <vector>

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

/// Returns this machine's name (gethostname(2)).
std::string host_name();

}  // namespace ddprun
