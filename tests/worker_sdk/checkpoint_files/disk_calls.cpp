#include "tests/worker_sdk/checkpoint_files/disk_calls.hpp"

#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <optional>

#include "tests/support/catch.hpp"

namespace {

namespace fs = std::filesystem;

struct Log {
  std::mutex mutex;
  std::optional<fs::path> folder;  // while somebody listens
  std::vector<std::string> calls;
};

Log& the_log() {
  static Log log;
  return log;
}

std::string seen_from(const fs::path& folder, const fs::path& path) {
  return path.lexically_relative(folder).string();
}

template <typename Describe>
void write_down(Describe describe) {
  Log& log = the_log();
  const std::lock_guard lock{log.mutex};
  if (log.folder) log.calls.push_back(describe(*log.folder));
}

}  // namespace

extern "C" {

int fsync(int fd) {
  std::error_code gone;
  const fs::path path = fs::read_symlink("/proc/self/fd/" + std::to_string(fd), gone);
  write_down([&](const fs::path& folder) { return "fsync " + seen_from(folder, path); });
  return static_cast<int>(syscall(SYS_fsync, fd));
}

int rename(const char* from, const char* to) noexcept {
  write_down([&](const fs::path& folder) {
    return "rename " + seen_from(folder, from) + " -> " + seen_from(folder, to);
  });
  return static_cast<int>(syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}

int renameat2(int from_folder, const char* from, int to_folder, const char* to,
              unsigned flags) noexcept {
  write_down([&](const fs::path& folder) {
    return "exchange " + seen_from(folder, from) + " <-> " + seen_from(folder, to);
  });
  return static_cast<int>(syscall(SYS_renameat2, from_folder, from, to_folder, to, flags));
}

}  // extern "C"

namespace ddprun {

DiskCalls::DiskCalls(fs::path folder) {
  const std::lock_guard lock{the_log().mutex};
  the_log().folder = std::move(folder);
  the_log().calls.clear();
}

DiskCalls::~DiskCalls() {
  const std::lock_guard lock{the_log().mutex};
  the_log().folder.reset();
}

std::vector<std::string> DiskCalls::all() const {
  const std::lock_guard lock{the_log().mutex};
  return the_log().calls;
}

std::size_t DiskCalls::place_of(const std::string& call) const {
  const auto calls = all();
  INFO("looking for '" << call << "' in " << Catch::Detail::stringify(calls));
  REQUIRE(std::ranges::count(calls, call) == 1);
  return static_cast<std::size_t>(std::ranges::find(calls, call) - calls.begin());
}

std::size_t DiskCalls::count(const std::string& what) const {
  const auto calls = all();
  return static_cast<std::size_t>(std::ranges::count_if(
      calls, [&](const std::string& call) { return call.starts_with(what); }));
}

}  // namespace ddprun
