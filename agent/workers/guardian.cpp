#include "agent/workers/guardian.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <sstream>
#include <string_view>

#include "agent/workers/worker_plan.hpp"
#include "base/descriptor.hpp"
#include "base/numbers.hpp"
#include "base/system/linux_calls.hpp"
#include "base/system/whole_file.hpp"

namespace ddprun {

namespace {

constexpr int kPassesMax = 2'000;  // each takes a few milliseconds
constexpr timespec kPassDelay{0, 2'000'000};
/// This many passes in a row have to find no process: the kernel shows no environment of a process
/// that is just executing a program, and so one pass may miss it.
constexpr int kEmptyPasses = 25;

bool carries_mark(pid_t pid, const std::string& mark) {
  std::istringstream environment{text_if_any("/proc/" + std::to_string(pid) + "/environ")};
  constexpr std::string_view kName{kMarkVariable};
  for (std::string entry; std::getline(environment, entry, '\0');) {
    if (!entry.starts_with(kName) || entry.size() <= kName.size() || entry[kName.size()] != '=')
      continue;
    std::istringstream marks{entry.substr(kName.size() + 1)};
    for (std::string one; std::getline(marks, one, ':');)
      if (one == mark) return true;
  }
  return false;
}

/// Kills the process if it carries the mark; false when it does not. The descriptor is opened
/// first: what it names cannot become another process meanwhile. Old kernels leave that gap open.
bool kill_if_marked(pid_t pid, const std::string& mark) {
  const Descriptor process{open_process(pid)};
  const bool marked = carries_mark(pid, mark);
  if (marked) signal_process(process.number(), pid, SIGKILL);
  return marked;
}

/// Kills all that carry the mark; true when there were any.
bool kill_marked(const std::string& mark) {
  DIR* processes = opendir("/proc");
  if (processes == nullptr) return false;
  // glibc before 2.25 would tell the parent's number: it does not know of a bare clone().
  const auto own = static_cast<pid_t>(syscall(SYS_getpid));
  bool any = false;
  while (const dirent* entry = readdir(processes)) {
    const std::string_view name{entry->d_name};
    const auto pid = parse_number<pid_t>(name);
    if (!pid || *pid == own) continue;
    any = kill_if_marked(*pid, mark) || any;
  }
  closedir(processes);
  return any;
}

[[noreturn]] void guard(int pipe, const std::string& mark) {
  setsid();
  prctl(PR_SET_NAME, "dpr-guardian");  // `killall ddprun` is not meant for it
  if (chdir("/") != 0) {
    // Then a file system stays busy for as long as the job runs.
  }
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  dup2(pipe, STDIN_FILENO);
  close_files_from(STDIN_FILENO + 1);  // or readers of our output would wait for this process
  char dismissed = 0;
  ssize_t n = 0;
  do n = read(STDIN_FILENO, &dismissed, 1);
  while (n < 0 && errno == EINTR);
  for (int pass = 0, empty = 0; n == 0 && pass < kPassesMax && empty < kEmptyPasses; ++pass) {
    empty = kill_marked(mark) ? 0 : empty + 1;
    nanosleep(&kPassDelay, nullptr);
  }
  _exit(0);
}

}  // namespace

Guardian::Guardian(const std::string& mark) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return;
  // Without SIGCHLD it is a child that only waits with __WCLONE see, see clone(2).
  pid_ = static_cast<pid_t>(syscall(SYS_clone, 0, nullptr, nullptr, nullptr, nullptr));
  if (pid_ == 0) guard(ends[0], mark);
  close(ends[0]);
  pipe_ = Descriptor{ends[1]};
}

Guardian::~Guardian() {
  if (pid_ < 0) return;
  const char dismissed = 1;
  if (write(pipe_.number(), &dismissed, 1) == 1) waitpid(pid_, nullptr, __WCLONE);
}

}  // namespace ddprun
