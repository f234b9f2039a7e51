#include "base/system/linux_calls.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <system_error>
#include <thread>

#include "base/system/own_process.hpp"
#include "base/system/signals.hpp"

namespace ddprun {

namespace {

/// Whether the last call failed because there is no such call. A container's filter that has never
/// heard of it answers EPERM, which these calls do not say themselves.
bool is_unknown_call() { return errno == ENOSYS || errno == EPERM; }

/// Returns the number that a directory's entry is named by, or -1.
DDPRUN_UNSANITIZED int number_of(const char* name) {
  int number = 0;
  for (; *name != '\0'; ++name) {
    if (*name < '0' || *name > '9') return -1;
    number = 10 * number + (*name - '0');
  }
  return number;
}

}  // namespace

int memory_file(const char* name, unsigned flags) {
  return static_cast<int>(syscall(SYS_memfd_create, name, flags));
}

ssize_t random_bytes(void* bytes, std::size_t size) {
  return syscall(SYS_getrandom, bytes, size, 0);
}

int open_process(pid_t process) { return static_cast<int>(syscall(SYS_pidfd_open, process, 0)); }

void signal_process(int file, pid_t process, int signal) {
  if (file >= 0 && syscall(SYS_pidfd_send_signal, file, signal, nullptr, 0) == 0) return;
  if (file < 0 || is_unknown_call()) kill(process, signal);
}

int watch_child(pid_t child) {
  const int file = open_process(child);
  return file < 0 && is_unknown_call() ? watch_child_by_thread(child) : file;
}

int watch_child_by_thread(pid_t child) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return -1;
  int refused = 0;
  try {
    const NoSignals inherited;
    std::thread{[child, end = ends[1]] {
      siginfo_t ended{};
      while (waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT) != 0 &&
             errno == EINTR) {
      }
      close(end);  // the other end reads that
    }}.detach();
  } catch (const std::system_error& error) {
    refused = error.code().value();
  }
  if (refused == 0) return ends[0];
  close(ends[0]);
  close(ends[1]);
  errno = refused;
  return -1;
}

DDPRUN_UNSANITIZED void take_default_action(int signal) {
  const unsigned long by_default[4] = {};  // the kernel's struct: SIG_DFL, no flags, no mask
  constexpr std::size_t kMaskBytes = 8;
  syscall(SYS_rt_sigaction, signal, by_default, nullptr, kMaskBytes);
}

DDPRUN_UNSANITIZED void close_files_from(int first) {
  if (syscall(SYS_close_range, static_cast<unsigned>(first), ~0U, 0) != 0)
    close_listed_files_from(first);
}

/// By their numbers, for ThreadSanitizer takes what open() and close() do in a child for its
/// parent's.
DDPRUN_UNSANITIZED void close_listed_files_from(int first) {
  const int list = static_cast<int>(
      syscall(SYS_openat, AT_FDCWD, "/proc/thread-self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (list < 0) return;
  alignas(dirent64) char entries[1024];
  // An entry's place in the list is its number: those that follow stay where they are.
  for (long size = 0; (size = syscall(SYS_getdents64, list, entries, sizeof entries)) > 0;)
    for (long at = 0; at < size;) {
      const auto* const entry = reinterpret_cast<const dirent64*>(entries + at);
      const int file = number_of(entry->d_name);
      if (file >= first && file != list) syscall(SYS_close, file);
      at += entry->d_reclen;
    }
  syscall(SYS_close, list);
}

bool take_own_files(int kept) {
#ifdef __SANITIZE_THREAD__
  return false;
#else
  constexpr unsigned kUnshare = 1U << 1;  // CLOSE_RANGE_UNSHARE: what is closed is not even copied
  if (syscall(SYS_close_range, static_cast<unsigned>(kept) + 1, ~0U, kUnshare) != 0) {
    if (unshare(CLONE_FILES) != 0) return false;
    close_listed_files_from(kept + 1);
  }
  for (int file = 0; file < kept; ++file) close(file);
  open_standard_files();
  return true;
#endif
}

}  // namespace ddprun
