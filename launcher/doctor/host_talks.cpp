#include "launcher/doctor/host_talks.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "base/process/command.hpp"
#include "base/process/file_limit.hpp"
#include "base/text.hpp"
#include "launcher/doctor/doctor_messages.hpp"
#include "launcher/doctor/unix_time_us.hpp"

namespace ddprun {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t kAnswersBytesMax = 8 * 1024 * 1024;
constexpr std::size_t kLastWordsBytesMax = 4096;

struct PipeEnds {
  Descriptor read, write;
};

PipeEnds open_pipe_ends() {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) return {Descriptor{}, Descriptor{}};
  return {Descriptor{ends[0]}, Descriptor{ends[1]}};
}

/// Returns whether it may be read again.
bool read_into(const Descriptor& source, std::string& text) {
  std::array<char, 16 * 1024> chunk{};
  const ssize_t bytes = ::read(source.number(), chunk.data(), chunk.size());
  if (bytes > 0) text.append(chunk.data(), static_cast<std::size_t>(bytes));
  return bytes > 0 || (bytes < 0 && (errno == EAGAIN || errno == EINTR));
}

/// While it lives, this process has the limit of open files that it was started with. A program
/// that is started then has it, too: it is what the doctor reads there, and what srun hands on.
class OriginalFileLimit {
 public:
  OriginalFileLimit() : original_{original_file_limit()} {
    if (original_ != nullptr && ::getrlimit(RLIMIT_NOFILE, &raised_) == 0)
      ::setrlimit(RLIMIT_NOFILE, original_);
  }
  ~OriginalFileLimit() {
    if (original_ != nullptr) ::setrlimit(RLIMIT_NOFILE, &raised_);
  }
  OriginalFileLimit(const OriginalFileLimit&) = delete;
  OriginalFileLimit& operator=(const OriginalFileLimit&) = delete;

 private:
  const rlimit* original_;
  rlimit raised_{};
};

/// Starts the program with these ends as its standard input, output and error. Returns the error's
/// number.
int start_program(const std::vector<std::string>& words,
                  const std::vector<std::string>& environment, const std::array<int, 3>& ends,
                  pid_t& pid) {
  const std::vector<char*> arguments = pointers_to(words), variables = pointers_to(environment);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (int i = 0; i < 3; ++i)  // before the limit: their numbers may be beyond it
    posix_spawn_file_actions_adddup2(&actions, ends[static_cast<std::size_t>(i)], i);
  const OriginalFileLimit limit;
  const int code =
      ::posix_spawn(&pid, arguments[0], &actions, nullptr, arguments.data(), variables.data());
  posix_spawn_file_actions_destroy(&actions);
  return code;
}

ExitStatus status_of_wait(int status) {
  if (WIFSIGNALED(status)) return {.code = 0, .signal = WTERMSIG(status)};
  return {.code = WEXITSTATUS(status)};
}

}  // namespace

HostTalks::~HostTalks() {
  for (Entry& entry : entries_) entry.to = Descriptor{};
  const TimePoint deadline = Clock::now() + 1s;
  for (Entry& entry : entries_) {
    if (entry.pid <= 0) continue;
    while (::waitpid(entry.pid, nullptr, WNOHANG) == 0 && Clock::now() < deadline + 1s) {
      if (Clock::now() >= deadline) ::kill(entry.pid, SIGKILL);
      ::poll(nullptr, 0, 2);
    }
  }
}

void HostTalks::start(const std::vector<std::string>& words,
                      const std::vector<std::string>& environment) {
  Entry& entry = entries_.emplace_back();
  PipeEnds in = open_pipe_ends(), out = open_pipe_ends(), err = open_pipe_ends();
  const bool all_open = in.read.is_open() && out.read.is_open() && err.read.is_open();
  const int code =
      all_open
          ? start_program(words, environment,
                          {in.read.number(), out.write.number(), err.write.number()}, entry.pid)
          : EMFILE;
  if (code != 0) {
    entry.pid = -1;
    entry.talk.last_words = {words.front() + ": " + std::strerror(code)};
    return;
  }
  ::fcntl(in.write.number(), F_SETFL, O_NONBLOCK);
  ::fcntl(err.read.number(), F_SETFL, O_NONBLOCK);
  entry.to = std::move(in.write);
  entry.from = std::move(out.read);
  entry.words = std::move(err.read);
  entry.talk.open = true;
}

void HostTalks::send(std::size_t host, const std::string& line) {
  Entry& entry = entries_[host];
  if (!entry.talk.open) return;
  entry.unsent += line;
  entry.talk.answer.clear();
  entry.talk.answered_us.reset();
  entry.waits = true;
  write_rest(entry);
}

void HostTalks::write_rest(Entry& entry) {
  while (!entry.unsent.empty()) {
    const ssize_t written = ::write(entry.to.number(), entry.unsent.data(), entry.unsent.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EAGAIN) return;
    if (written <= 0) return entry.unsent.clear();  // it has ended: its output ends, too
    entry.unsent.erase(0, static_cast<std::size_t>(written));
  }
}

void HostTalks::wait_for_answers(std::chrono::milliseconds timeout) {
  const TimePoint deadline = Clock::now() + timeout;
  for (;;) {
    std::vector<pollfd> waiting;
    std::vector<Entry*> owners;
    for (Entry& entry : entries_) {
      if (!entry.waits) continue;
      for (const Descriptor* source : {&entry.from, &entry.words}) {
        waiting.push_back({.fd = source->number(), .events = POLLIN, .revents = 0});
        owners.push_back(&entry);
      }
      if (entry.unsent.empty()) continue;
      waiting.push_back({.fd = entry.to.number(), .events = POLLOUT, .revents = 0});
      owners.push_back(&entry);
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    if (waiting.empty() || left <= 0ms) break;
    ::poll(waiting.data(), waiting.size(), static_cast<int>(left.count()));
    for (std::size_t i = 0; i < waiting.size(); ++i) {
      if (waiting[i].revents == 0) continue;
      Entry& entry = *owners[i];
      if (waiting[i].fd == entry.to.number())
        write_rest(entry);
      else if (waiting[i].fd == entry.from.number())
        read_answers(entry);
      else if (!read_into(entry.words, entry.said))
        entry.words = Descriptor{};
    }
  }
  for (Entry& entry : entries_)
    if (std::exchange(entry.waits, false)) entry.talk.open = false;
}

void HostTalks::read_answers(Entry& entry) {
  if (!read_into(entry.from, entry.inbox) || entry.inbox.size() > kAnswersBytesMax)
    return note_end(entry);
  for (std::size_t end; (end = entry.inbox.find('\n')) != std::string::npos;
       entry.inbox.erase(0, end + 1)) {
    if (!is_doctors_line(std::string_view{entry.inbox}.substr(0, end))) continue;
    entry.talk.answer = entry.inbox.substr(0, end);
    entry.talk.answered_us = unix_time_us();
    entry.waits = false;
  }
}

/// The output has ended, so the end of the program is near. Another process may hold its standard
/// error, which is therefore read no longer than it has something to say.
void HostTalks::note_end(Entry& entry) {
  entry.waits = entry.talk.open = false;
  int status = 0;
  const TimePoint deadline = Clock::now() + 2s;
  while (::waitpid(entry.pid, &status, WNOHANG) == 0 && Clock::now() < deadline + 1s) {
    if (Clock::now() >= deadline) ::kill(entry.pid, SIGKILL);
    ::poll(nullptr, 0, 2);
  }
  entry.pid = -1;
  entry.talk.status = status_of_wait(status);
  for (std::size_t before = entry.said.size() + 1;
       entry.words.is_open() && before != entry.said.size();) {
    before = entry.said.size();
    read_into(entry.words, entry.said);
  }
  if (entry.said.size() > kLastWordsBytesMax)
    entry.said.erase(0, entry.said.size() - kLastWordsBytesMax);
  entry.talk.last_words = split_lines(entry.said);
}

}  // namespace ddprun
