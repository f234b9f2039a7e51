// Tries a folder that a job is to write to.
#pragma once

#include <string>

#include "launcher/doctor/reading.hpp"

namespace ddprun {

/// Writes a small file with fsync(2) in the folder `path`, and removes it. A folder that is not
/// there yet is made by the job, so the one in which it would be is tried. It may wait for as long
/// as the file system's server does.
FolderReading probe_folder(const std::string& role, const std::string& path);

}  // namespace ddprun
