#include "base/process/query_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/number_text.hpp"
#include "base/process/command.hpp"
#include "base/system/linux_calls.hpp"

namespace ddprun {

namespace {

using namespace std::chrono_literals;

/// Writes until all is written, or the reader has gone.
void write_answer(int pipe, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(pipe, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

constexpr int kFilesMax = 1024;  // open files of this process that are looked for; a shell usually
                                 // allows that many

/// A child that hangs may outlive this process, and a reader of our output waits until no process
/// has it open any more. A console has opened it once more, for itself.
void close_streams(bool keep_errors) {
  constexpr std::array kStreams{STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO};
  std::array<struct stat, kStreams.size()> ours{};
  for (const int stream : kStreams) ::fstat(stream, &ours[stream]);
  const auto is_ours = [&](const struct stat& file) {
    return std::ranges::any_of(ours, [&](const struct stat& stream) {
      return stream.st_dev == file.st_dev && stream.st_ino == file.st_ino;
    });
  };
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int stream : kStreams)
    if (stream != STDERR_FILENO || !keep_errors) ::dup2(null, stream);
  // Last, for a file that this process has open may be on a disk that does not answer.
  for (int file = STDERR_FILENO + 1; file < kFilesMax; ++file)
    if (struct stat what{}; file != null && ::fstat(file, &what) == 0 && is_ours(what))
      ::close(file);
}

struct Forked {
  pid_t pid = -1;
  Descriptor pipe;
};

/// `in_child` gets the end of the pipe to write to. The process ends with it.
Forked fork_child(const std::function<void(int)>& in_child, bool keep_errors = false) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return {-1, Descriptor{}};
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    std::signal(SIGINT, SIG_DFL);
    std::signal(SIGTERM, SIG_DFL);
    close_streams(keep_errors);
    try {
      in_child(ends[1]);
    } catch (...) {
      ::_exit(1);  // its way up would end what is the parent's, and remove its files
    }
    ::_exit(0);
  }
  ::close(ends[1]);
  return {pid, Descriptor{ends[0]}};
}

}  // namespace

QueryProcess::QueryProcess(pid_t pid, Descriptor pipe, std::chrono::milliseconds timeout)
    : pid_{pid},
      process_{pid > 0 ? open_process(pid) : -1},
      pipe_{std::move(pipe)},
      timeout_{timeout},
      deadline_{Clock::now() + timeout} {}

QueryProcess::QueryProcess(QueryProcess&& other) noexcept
    : pid_{std::exchange(other.pid_, -1)},
      process_{std::move(other.process_)},
      pipe_{std::move(other.pipe_)},
      timeout_{other.timeout_},
      deadline_{other.deadline_} {}

QueryProcess QueryProcess::start(std::chrono::milliseconds timeout,
                                 const std::function<std::string()>& work) {
  Forked forked = fork_child([&](int pipe) { write_answer(pipe, work()); });
  return {forked.pid, std::move(forked.pipe), timeout};
}

QueryProcess QueryProcess::run(std::chrono::milliseconds timeout,
                               const std::vector<std::string>& words,
                               const ProgramOptions& options) {
  const std::vector<char*> arguments = pointers_to(words);
  const std::vector<char*> own =
      options.environment ? pointers_to(*options.environment) : std::vector<char*>{};
  char* const* const variables = options.environment ? own.data() : environ;
  const auto become_program = [&](int pipe) {
    ::setpgid(0, 0);  // it may be a script, whose children end with it
    ::dup2(pipe, STDOUT_FILENO);
    std::signal(SIGPIPE, SIG_DFL);
    ::execvpe(arguments[0], arguments.data(), variables);
  };
  Forked forked = fork_child(become_program, options.shows_errors);
  return {forked.pid, std::move(forked.pipe), timeout};
}

void QueryProcess::kill() const {
  if (pid_ <= 0) return;
  signal_process(process_.number(), pid_, SIGKILL);
  ::kill(-pid_, SIGKILL);  // its group, where it has one
}

/// A process that hangs in the kernel dies when the kernel lets go of it. We do not wait for
/// that.
QueryProcess::~QueryProcess() {
  if (pid_ <= 0) return;
  kill();
  for (int tries = 0; tries < 100 && ::waitpid(pid_, nullptr, WNOHANG) == 0; ++tries)
    ::poll(nullptr, 0, 1);
}

Result<std::string> QueryProcess::answer(std::size_t bytes_max) {
  if (!started()) return Error{Error::Kind::kUnavailable, "no process could be started to ask"};
  std::string text;
  std::array<char, 4096> chunk{};
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline_ - Clock::now());
    pollfd entry{.fd = pipe_.number(), .events = POLLIN, .revents = 0};
    const int ready = ::poll(&entry, 1, static_cast<int>(std::max(left, 0ms).count()));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0 || text.size() > bytes_max)
      return Error{Error::Kind::kTimeout, "no answer within " + seconds_text(timeout_)};
    const ssize_t bytes = ::read(pipe_.number(), chunk.data(), chunk.size());
    if (bytes < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (bytes <= 0) break;
    text.append(chunk.data(), static_cast<std::size_t>(bytes));
  }
  if (text.empty())
    return Error{Error::Kind::kUnavailable, "the process that asked has ended without an answer"};
  return text;
}

std::string output_of(const std::vector<std::string>& words, std::chrono::milliseconds timeout) {
  auto answer = QueryProcess::run(timeout, words, {.shows_errors = true}).answer();
  return answer ? *std::move(answer) : "";
}

}  // namespace ddprun
