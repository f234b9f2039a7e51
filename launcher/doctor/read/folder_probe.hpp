// Tries a folder that a job is to write to.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "launcher/doctor/read/reading.hpp"

namespace ddprun {

struct Space {
  std::int64_t total_bytes = 0;
  std::int64_t free_bytes = 0;             // for this user
  std::optional<std::int64_t> free_files;  // inodes; nullopt: the file system has no limit
};

/// Returns the space of the file system in which a folder is; nullopt: the system does not tell.
std::optional<Space> space_of(const std::string& folder);

/// Writes a small file with fsync(2) in the folder `path`, and removes it. A folder that is not
/// there yet is made by the job, so the one in which it would be is tried. It may wait for as long
/// as the file system's server does.
FolderReading probe_folder(const std::string& role, const std::string& path);

/// Reads which checkpoint a job with --checkpoints has left in the folder `path`, and how large it
/// is. It may wait for as long as the file system's server does.
CheckpointsReading probe_checkpoints(const std::string& path);

}  // namespace ddprun
