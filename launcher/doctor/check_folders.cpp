#include <fmt/format.h>

#include <cerrno>

#include "base/number_text.hpp"
#include "launcher/doctor/checks.hpp"
#include "launcher/doctor/node_findings.hpp"

namespace ddprun {

namespace {

constexpr std::int64_t kDiskNeeded = std::int64_t{64} << 20;
constexpr std::int64_t kDiskWanted = std::int64_t{1} << 30;
constexpr std::int64_t kFilesNeeded = 100;
constexpr std::int64_t kFilesWanted = 10'000;
constexpr double kSlowWriteMs = 1000;

/// "logs-folder", "checkpoints-folder".
std::string subject_of(const FolderReading& folder) {
  return (folder.role == "temporary files" ? "tmp" : folder.role) + "-folder";
}

/// Where a file was tried: "/data (ext4)".
std::string place_of_folder(const FolderReading& folder) {
  const std::string& place = folder.tried.empty() ? folder.path : folder.tried;
  return folder.file_system.empty() ? place : fmt::format("{} ({})", place, folder.file_system);
}

/// A folder that is misspelled is not there, either, so it is named.
std::string if_not_there(const FolderReading& folder) {
  return folder.tried.empty() ? "" : fmt::format("{} is not there yet; ", folder.path);
}

const char* advice_on_folder(const FolderReading& folder) {
  switch (folder.error_number.value_or(0)) {
    case ENOSPC:
      return "remove what is not needed there, or name another folder";
    case EDQUOT:
      return "remove what is not needed there, ask for a higher quota, or name another folder";
    case EROFS:
      return "mount it writable (mount -o remount,rw), or name another folder";
    case ENOTDIR:
      return "name a folder";
    case EACCES:
    case EPERM:
      return "give it to this user, or name another folder";
    default:
      return "make the folder, mount it, or give it to this user";
  }
}

void check_space(const FolderReading& folder, NodeFindings& found) {
  const bool is_full = folder.free_bytes.value_or(kDiskNeeded) < kDiskNeeded;
  const bool is_short = folder.free_bytes.value_or(kDiskWanted) < kDiskWanted;
  if (is_full || is_short) {
    const Trouble trouble{
        fmt::format("{} free in {}", bytes_text(*folder.free_bytes), place_of_folder(folder)),
        fmt::format("the job writes its {} there, and fails when the disk is full", folder.role),
        "remove what is not needed there, or name another folder"};
    return is_full ? found.fail("disk", trouble) : found.warn("disk", trouble);
  }
  const bool no_files = folder.free_files.value_or(kFilesNeeded) < kFilesNeeded;
  if (no_files || folder.free_files.value_or(kFilesWanted) < kFilesWanted) {
    const Trouble trouble{fmt::format("{} more can be made in {}",
                                      counted(*folder.free_files, "file"), place_of_folder(folder)),
                          "a file system without free inodes is full, however many bytes are free",
                          "remove files there, or ask for a higher quota"};
    return no_files ? found.fail("disk", trouble) : found.warn("disk", trouble);
  }
  if (folder.free_bytes)
    found.ok("disk",
             fmt::format("{} free in {}", bytes_text(*folder.free_bytes), place_of_folder(folder)));
}

void check_folder(const FolderReading& folder, NodeFindings& found) {
  if (folder.role == "working" && !folder.error.empty())
    return found.fail("working-folder",
                      {fmt::format("{}: {}", folder.path, folder.error),
                       "the job is to work there: its script and relative paths are not found",
                       "make the folder there, share it, or name another one: --remote-dir"});
  if (!folder.error.empty())
    return found.fail(
        subject_of(folder),
        {fmt::format("{}{}: {}", if_not_there(folder), place_of_folder(folder), folder.error),
         fmt::format("the job writes its {} there", folder.role), advice_on_folder(folder)});
  if (folder.write_ms) {
    const std::string seen =
        fmt::format("{}a small file in {} took {:.0f} ms with fsync", if_not_there(folder),
                    place_of_folder(folder), *folder.write_ms);
    if (*folder.write_ms >= kSlowWriteMs)
      found.warn(subject_of(folder),
                 {seen, "each checkpoint and each log waits for this disk or its server",
                  "see whether somebody else writes there, or whether its server is ill"});
    else
      found.ok(subject_of(folder), seen);
  }
  check_space(folder, found);
}

}  // namespace

Findings check_folders(const NodeReading& node) {
  NodeFindings found{node};
  for (const FolderReading& folder : node.folders) check_folder(folder, found);
  return found.take();
}

}  // namespace ddprun
