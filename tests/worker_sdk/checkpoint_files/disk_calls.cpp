#include "tests/worker_sdk/checkpoint_files/disk_calls.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdarg>
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

constexpr unsigned kExchange = 1U << 1;  // RENAME_EXCHANGE

using SystemCall = long (*)(long, ...);

/// The C library's own syscall(). It is no static variable with a guard: to wait at one is a call,
/// too.
SystemCall system_call() {
  static std::atomic<SystemCall> found = nullptr;
  if (found == nullptr) found = reinterpret_cast<SystemCall>(dlsym(RTLD_NEXT, "syscall"));
  return found;
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

// An exchange is called by its number, because old C libraries have no name for it.
long syscall(long number, ...) noexcept {
  std::va_list list;
  va_start(list, number);
  std::array<long, 6> words{};
  for (long& word : words) word = va_arg(list, long);
  va_end(list);
  if (number == SYS_renameat2 && static_cast<unsigned>(words[4]) == kExchange)
    write_down([&](const fs::path& folder) {
      const auto* const from = reinterpret_cast<const char*>(words[1]);
      const auto* const to = reinterpret_cast<const char*>(words[3]);
      return "exchange " + seen_from(folder, from) + " <-> " + seen_from(folder, to);
    });
  return system_call()(number, words[0], words[1], words[2], words[3], words[4], words[5]);
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
