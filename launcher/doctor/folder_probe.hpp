// Tries a folder that a job is to write to, and whether the nodes share it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "launcher/doctor/reading.hpp"

namespace ddprun {

/// Writes a small file with fsync(2) in the folder `path`, and removes it. A folder that is not
/// there yet is made by the job, so the one in which it would be is tried. It may wait for as long
/// as the file system's server does.
FolderReading probe_folder(const std::string& role, const std::string& path);

/// SharedFile: a small file in a folder, which the other nodes look for: do they share it?
class SharedFile {
 public:
  /// Makes the file, whose name says the run and the node. An empty `folder`: there is none.
  SharedFile(const std::string& folder, const std::string& token, const std::string& node);
  SharedFile(const SharedFile&) = delete;
  SharedFile& operator=(const SharedFile&) = delete;
  /// Removes it.
  ~SharedFile();

  /// Returns the nodes whose files are there; nullopt when this one could not write its own.
  std::optional<std::vector<std::string>> owners() const;

 private:
  std::filesystem::path folder_;
  std::string prefix_;
  std::filesystem::path path_;  // empty: there is none
};

}  // namespace ddprun
