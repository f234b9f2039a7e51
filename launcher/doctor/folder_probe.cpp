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
#include "launcher/doctor/kernel_files.hpp"

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

/// Returns what failed, "" for nothing.
std::string write_small_file(const std::filesystem::path& folder) {
  std::string name = (folder / ".ddprun-doctor.XXXXXX").string();
  const Descriptor file{::mkostemp(name.data(), O_CLOEXEC)};
  if (!file.is_open()) return std::string{"no file can be made there: "} + std::strerror(errno);
  ::unlink(name.c_str());
  std::array<char, 4096> bytes{};
  if (::write(file.number(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
    return std::string{"a small file cannot be written there: "} + std::strerror(errno);
  if (::fsync(file.number()) != 0) return std::string{"fsync fails there: "} + std::strerror(errno);
  return "";
}

}  // namespace

FolderReading probe_folder(const std::string& role, const std::string& path) {
  FolderReading reading{.role = role, .path = path};
  std::error_code error;
  const auto absolute = std::filesystem::absolute(path, error).lexically_normal();
  const std::filesystem::path folder = present_part(absolute);
  if (!std::filesystem::is_directory(folder, error)) {
    reading.error = "'" + folder.string() + "' is no folder";
    return reading;
  }
  const auto real = std::filesystem::canonical(folder, error);
  reading.file_system = file_system_of(real.string(), kernel_text("/proc/self/mountinfo"));
  struct statvfs space {};
  if (::statvfs(folder.c_str(), &space) == 0) {
    const auto block = static_cast<std::int64_t>(space.f_frsize);
    reading.total_bytes = static_cast<std::int64_t>(space.f_blocks) * block;
    reading.free_bytes = static_cast<std::int64_t>(space.f_bavail) * block;
    if (space.f_files > 0) reading.free_files = static_cast<std::int64_t>(space.f_favail);
  }
  const TimePoint begin = Clock::now();
  reading.error = write_small_file(folder);
  if (reading.error.empty())
    reading.write_ms = std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
  return reading;
}

}  // namespace ddprun
