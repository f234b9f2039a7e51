// Starting ddprun_probe (tests/support/probe.cpp), whose path is the macro DDPRUN_PROBE.
#pragma once

#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <csignal>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "base/process/child_process.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/event_loop.hpp"
#include "tests/support/pipe.hpp"

/// What a failed check prints.
template <>
struct Catch::StringMaker<ddprun::ExitStatus> {
  static std::string convert(const ddprun::ExitStatus& status) { return describe(status); }
};

namespace ddprun {

inline Command probe(std::vector<std::string> steps, std::vector<std::string> environment = {}) {
  steps.insert(steps.begin(), "probe");
  return {DDPRUN_PROBE, std::move(steps), std::move(environment), {}};
}

/// What "facts" prints, by the name of each fact.
inline std::map<std::string, std::string> parse_facts(const std::string& text) {
  std::map<std::string, std::string> facts;
  std::istringstream lines{text};
  for (std::string line; std::getline(lines, line);) {
    const std::size_t space = line.starts_with("file limit") ? 10 : line.find(' ');
    facts[line.substr(0, space)] = space == std::string::npos ? "" : line.substr(space + 1);
  }
  return facts;
}

/// Starts one child, which must start.
inline ChildProcess start_one(EventLoop& loop, SpawnPool& pool, NewChild child) {
  std::vector<Result<ChildProcess>> started =
      ChildProcess::spawn(loop.executor(), pool, {std::move(child)});
  REQUIRE(started.size() == 1);
  if (!started.front()) FAIL(started.front().error().message);
  return std::move(*started.front());
}

/// Starts it as any parent would, without ChildProcess. Its output is `out`, and so is
/// its file 3.
inline pid_t start_plainly(const std::vector<std::string>& steps, const Pipe& out) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  for (const int file : {STDOUT_FILENO, STDERR_FILENO + 1})
    posix_spawn_file_actions_adddup2(&files, out.writer(), file);
  Command command = probe(steps);
  std::vector<char*> words;
  for (std::string& word : command.arguments) words.push_back(word.data());
  words.push_back(nullptr);
  char* no_environment = nullptr;
  pid_t pid = -1;
  const int refused =
      posix_spawn(&pid, DDPRUN_PROBE, &files, nullptr, words.data(), &no_environment);
  posix_spawn_file_actions_destroy(&files);
  REQUIRE(refused == 0);
  return pid;
}

/// A child of this process that nobody has reaped, running or not.
inline bool is_child(pid_t pid) {
  siginfo_t ended{};
  return waitid(P_PID, static_cast<id_t>(pid), &ended, WEXITED | WNOHANG | WNOWAIT) == 0;
}

/// Whether this process has any, running or not.
inline bool has_children() {
  siginfo_t ended{};
  return waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) == 0;
}

inline std::size_t count_open_files() {
  std::size_t count = 0;
  for (const auto& file : std::filesystem::directory_iterator{"/proc/self/fd"})
    count += file.path().empty() ? 0 : 1;
  return count;
}

/// As long as it lives, orphans below this process become its children. In the end it reaps all
/// children, whom the test has killed.
class Subreaper {
 public:
  Subreaper() { prctl(PR_SET_CHILD_SUBREAPER, 1); }
  ~Subreaper() {
    while (waitpid(-1, nullptr, 0) > 0) continue;
    prctl(PR_SET_CHILD_SUBREAPER, 0);
  }
  Subreaper(const Subreaper&) = delete;
  Subreaper& operator=(const Subreaper&) = delete;
};

/// Ignores a signal for as long as it lives.
class Ignored {
 public:
  explicit Ignored(int signal) : signal_{signal}, before_{std::signal(signal, SIG_IGN)} {}
  ~Ignored() { std::signal(signal_, before_); }
  Ignored(const Ignored&) = delete;
  Ignored& operator=(const Ignored&) = delete;

 private:
  int signal_;
  void (*before_)(int);
};

}  // namespace ddprun
