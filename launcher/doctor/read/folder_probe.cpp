#include "launcher/doctor/read/folder_probe.hpp"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "agent/checkpoints/folder_files.hpp"
#include "agent/checkpoints/memory_budget.hpp"
#include "agent/checkpoints/snapshot.hpp"
#include "base/clock.hpp"
#include "base/descriptor.hpp"
#include "base/system/file_system.hpp"
#include "base/system/whole_file.hpp"

namespace ddprun {

namespace {

/// Returns the folder itself, or the innermost one around it that is there.
std::filesystem::path present_part(const std::filesystem::path& path) {
  std::filesystem::path folder = path;
  std::error_code error;
  while (!std::filesystem::exists(folder, error) && folder != folder.parent_path())
    folder = folder.parent_path();
  return folder;
}

void note_error(const char* what, int number, FolderReading& reading) {
  reading.error = std::string{what} + ": " + std::strerror(number);
  reading.error_number = number;
}

void write_small_file(const std::filesystem::path& folder, FolderReading& reading) {
  std::string name = (folder / ".ddprun-doctor.XXXXXX").string();
  const Descriptor file{::mkostemp(name.data(), O_CLOEXEC)};
  if (!file.is_open()) return note_error("no file can be made there", errno, reading);
  ::unlink(name.c_str());
  std::array<char, 4096> bytes{};
  const ssize_t written = ::write(file.number(), bytes.data(), bytes.size());
  if (written !=
      static_cast<ssize_t>(bytes.size()))  // a part of it is written to a disk that fills
    return note_error("a small file cannot be written there", written < 0 ? errno : ENOSPC,
                      reading);
  if (::fsync(file.number()) != 0) note_error("fsync fails there", errno, reading);
}

}  // namespace

std::optional<Space> space_of(const std::string& folder) {
  struct statvfs found {};
  if (::statvfs(folder.c_str(), &found) != 0) return std::nullopt;
  const auto block = static_cast<std::int64_t>(found.f_frsize);
  Space space{.total_bytes = static_cast<std::int64_t>(found.f_blocks) * block,
              .free_bytes = static_cast<std::int64_t>(found.f_bavail) * block,
              .free_files = {}};
  if (found.f_files > 0) space.free_files = static_cast<std::int64_t>(found.f_favail);
  return space;
}

FolderReading probe_folder(const std::string& role, const std::string& path) {
  FolderReading reading{.role = role, .path = path};
  std::error_code error;
  const auto absolute = std::filesystem::absolute(path, error).lexically_normal();
  const std::filesystem::path folder = present_part(absolute);
  if (!std::filesystem::is_directory(folder, error)) {
    reading.error = "'" + folder.string() + "' is no folder";
    reading.error_number = ENOTDIR;
    return reading;
  }
  if (folder != absolute) reading.tried = folder.string();
  const auto real = std::filesystem::canonical(folder, error);
  reading.file_system = file_system_of(real.string(), mount_table());
  if (const auto space = space_of(folder.string())) {
    reading.total_bytes = space->total_bytes;
    reading.free_bytes = space->free_bytes;
    reading.free_files = space->free_files;
  }
  const TimePoint begin = Clock::now();
  write_small_file(folder, reading);
  if (reading.error.empty()) reading.write_ms = ms_since(begin);
  return reading;
}

CheckpointsReading probe_checkpoints(const std::string& path) {
  const auto text =
      read_text(std::filesystem::path{path} / kOwnFolder / "files.json", kFileListBytesMax);
  const auto list = text ? read_snapshot(*text) : text.error();
  if (!list || list->files.empty()) return {.save_bytes = bytes_of_save(nullptr)};
  const Snapshot& last = *list;
  return {title_of(last), new_bytes(last), bytes_of_save(&last)};
}

}  // namespace ddprun
