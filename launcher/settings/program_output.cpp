#include "launcher/settings/program_output.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>

#include "base/clock.hpp"
#include "base/system/linux_calls.hpp"

namespace ddprun {

namespace {

constexpr std::size_t kOutputBytesMax = 1 << 20;
constexpr std::chrono::seconds kAnswerTimeout{30};

/// Starts a program whose standard output is `out`. No shell reads the words, which come from the
/// environment and from Slurm. Returns its process id, or -1.
pid_t start_with_output(const std::vector<std::string>& words, int out) {
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  pid_t pid = -1;
  if (posix_spawnp(&pid, arguments[0], &actions, nullptr, arguments.data(), environ) != 0) pid = -1;
  posix_spawn_file_actions_destroy(&actions);
  return pid;
}

/// Waits until there is something to read, or the end. Returns false when `deadline` comes first.
bool readable(int fd, TimePoint deadline) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    pollfd wait{fd, POLLIN, 0};
    const int ready = poll(&wait, 1, static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
    if (ready >= 0 || errno != EINTR) return ready > 0;
  }
}

std::string read_all(int fd, TimePoint deadline) {
  std::string output;
  std::array<char, 4096> buffer{};
  while (output.size() < kOutputBytesMax && readable(fd, deadline)) {
    const ssize_t got = read(fd, buffer.data(), buffer.size());
    if (got <= 0) break;
    output.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return output;
}

}  // namespace

std::string output_of(const std::vector<std::string>& words) {
  const TimePoint deadline = Clock::now() + kAnswerTimeout;
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return "";
  const pid_t pid = start_with_output(words, ends[1]);
  close(ends[1]);
  std::string output = read_all(ends[0], deadline);
  close(ends[0]);
  if (pid <= 0) return output;
  const int pidfd = watch_child(pid);
  if (pidfd < 0 || !readable(pidfd, deadline)) kill(pid, SIGKILL);
  if (pidfd >= 0) close(pidfd);
  waitpid(pid, nullptr, 0);
  return output;
}

}  // namespace ddprun
