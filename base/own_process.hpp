// Here a process asks the system about itself and its machine.
#pragma once

#include <string>
#include <vector>

namespace ddprun {

/// Returns all variables of this process's environment as "NAME=value" (environ(7)).
std::vector<std::string> own_environment();

/// Returns the path of this executable (/proc/self/exe, proc(5)); "" where /proc is not mounted.
std::string own_path();

/// Returns this machine's name (gethostname(2)).
std::string host_name();

}  // namespace ddprun
