#include "launcher/doctor/folder_probe.hpp"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/clock.hpp"
#include "base/descriptor.hpp"
#include "base/system/file_system.hpp"
#include "launcher/doctor/bench/ms_since.hpp"

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
  struct statvfs space {};
  if (::statvfs(folder.c_str(), &space) == 0) {
    const auto block = static_cast<std::int64_t>(space.f_frsize);
    reading.total_bytes = static_cast<std::int64_t>(space.f_blocks) * block;
    reading.free_bytes = static_cast<std::int64_t>(space.f_bavail) * block;
    if (space.f_files > 0) reading.free_files = static_cast<std::int64_t>(space.f_favail);
  }
  const TimePoint begin = Clock::now();
  write_small_file(folder, reading);
  if (reading.error.empty()) reading.write_ms = ms_since(begin);
  return reading;
}

SharedFile::SharedFile(const std::string& folder, const std::string& token, const std::string& node)
    : folder_{folder}, prefix_{".ddprun-doctor-" + token + "-"} {
  if (folder.empty()) return;
  path_ = folder_ / (prefix_ + node);
  const int file = ::open(path_.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
  if (file < 0) {
    path_.clear();
    return;
  }
  ::close(file);
}

SharedFile::~SharedFile() {
  if (!path_.empty()) ::unlink(path_.c_str());
}

std::optional<std::vector<std::string>> SharedFile::owners() const {
  if (path_.empty()) return std::nullopt;
  std::vector<std::string> nodes;
  std::error_code error;
  for (std::filesystem::directory_iterator entry{folder_, error}, end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.starts_with(prefix_)) nodes.push_back(name.substr(prefix_.size()));
  }
  return nodes;
}

}  // namespace ddprun
