// Looks at the files that a command line names, without waiting for anybody.
#pragma once

#include <string>

#include "launcher/settings/foreign_script.hpp"

namespace ddprun {

/// Reads the first and the last bytes of a regular file. They are empty where it cannot be read,
/// and for a directory or a pipe, whose bytes Python alone shall read.
FileEnds file_ends(const std::string& path);

}  // namespace ddprun
