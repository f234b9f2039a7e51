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
#include <system_error>
#include <utility>
#include <vector>

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

// The guardian hears words that end with a zero byte. The empty one dismisses it, and each other
// one is a mark and the path that it is about.
constexpr char kWithAll = '*';
constexpr char kIfEmpty = '-';

/// Returns the words that it has heard when its agent is gone. Dismissed, it ends.
std::vector<std::string> hear_until_alone(int pipe) {
  std::vector<std::string> words;
  std::string word;
  for (;;) {
    char next = 0;
    const ssize_t n = read(pipe, &next, 1);
    if (n < 0 && errno == EINTR) continue;
    if (n == 0) return words;
    if (n < 0 || (next == 0 && word.empty())) _exit(0);
    if (next == 0)
      words.push_back(std::exchange(word, {}));
    else
      word += next;
  }
}

void remove_what(const std::string& word) {
  std::error_code ignored;  // somebody else may have been faster
  if (word.front() == kWithAll)
    std::filesystem::remove_all(word.substr(1), ignored);
  else
    std::filesystem::remove(word.substr(1), ignored);
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
  const std::vector<std::string> words = hear_until_alone(STDIN_FILENO);
  for (int pass = 0, empty = 0; pass < kPassesMax && empty < kEmptyPasses; ++pass) {
    empty = kill_marked(mark) ? 0 : empty + 1;
    nanosleep(&kPassDelay, nullptr);
  }
  for (const std::string& word : words) remove_what(word);
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
  tell("");
  waitpid(pid_, nullptr, __WCLONE);
}

void Guardian::also_remove(const std::filesystem::path& path) {
  std::error_code nowhere;
  tell(kWithAll + absolute(path, nowhere).string());
}

void Guardian::also_remove_if_empty(const std::filesystem::path& folder) {
  std::error_code nowhere;
  tell(kIfEmpty + absolute(folder, nowhere).string());
}

/// One that is gone already hears nothing.
void Guardian::tell(std::string_view word) {
  const std::string ended = std::string{word} + '\0';
  if (pid_ < 0) return;
  [[maybe_unused]] const ssize_t n = write(pipe_.number(), ended.data(), ended.size());
}

}  // namespace ddprun
