// What the system tells this process of itself and of its machine.
#pragma once

#include <string>
#include <vector>

namespace ddprun {

/// All variables of this process's environment, as "NAME=value".
std::vector<std::string> own_environment();

/// The path of this executable (/proc/self/exe, proc(5)); "" where /proc is not mounted.
std::string own_path();

/// This machine's name (gethostname(2)).
std::string host_name();

}  // namespace ddprun
