#include "base/process/child_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "base/system/left_behind.hpp"
#include "base/system/linux_calls.hpp"

namespace ddprun {

namespace {

Error start_error(const std::string& program, int error_number) {
  const auto kind = error_number == ENOENT                             ? Error::Kind::kNotFound
                    : error_number == EAGAIN || error_number == ENOMEM ? Error::Kind::kUnavailable
                                                                       : Error::Kind::kDenied;
  const char* const limit =
      error_number == EAGAIN ? "; the limit of processes is reached (ulimit -u, pids.max)" : "";
  return {kind, "cannot start '" + program + "': " + std::strerror(error_number) + limit};
}

bool has_exited(pid_t child) {
  siginfo_t ended{};
  const auto id = static_cast<id_t>(child);
  return waitid(P_PID, id, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid != 0;
}

ExitStatus exit_status(const siginfo_t& info) {
  if (info.si_code == CLD_EXITED) return {.code = info.si_status};
  return {.signal = info.si_status, .core_dumped = info.si_code == CLD_DUMPED};
}

}  // namespace

std::vector<Result<ChildProcess>> ChildProcess::spawn(const asio::any_io_executor& executor,
                                                      SpawnPool& pool,
                                                      const std::vector<NewChild>& children) {
  std::vector<StartedChild> started(children.size());
  pool.for_each(static_cast<int>(children.size()), [&](int i) {
    started[i] = start_child(children[i].command, children[i].streams, children[i].files);
  });
  std::vector<Result<ChildProcess>> processes;
  processes.reserve(children.size());
  for (std::size_t i = 0; i < children.size(); ++i)
    processes.push_back(adopt(executor, children[i].command.program, started[i]));
  return processes;
}

std::vector<Result<ChildProcess>> stopped_before(std::size_t children) {
  std::vector<Result<ChildProcess>> processes;
  for (std::size_t i = 0; i < children; ++i)
    processes.emplace_back(Error{Error::Kind::kUnavailable, "stopped before it was started"});
  return processes;
}

struct SlowSpawn::State {
  const std::vector<NewChild> children;
  std::mutex mutex;
  std::vector<StartedChild> started;
  bool unwanted = false;

  /// nullopt: it is not wanted.
  std::optional<OwnFiles> files_of(int i) {
    const std::lock_guard lock{mutex};
    return unwanted ? std::nullopt : std::optional<OwnFiles>{children[i]};
  }
  void start_one(int i) {
    const auto own = files_of(i);
    if (!own) return;
    const StartedChild one = own->start(children[i].command);
    const std::lock_guard lock{mutex};
    unwanted ? put_down(one) : void(started[i] = one);
  }
};

SlowSpawn::SlowSpawn(std::vector<NewChild> children)
    : state_{new State{.children = std::move(children), .mutex = {}, .started = {}}} {
  state_->started.resize(state_->children.size());
}

std::size_t SlowSpawn::count() const { return state_->children.size(); }

const std::string& SlowSpawn::program() const { return state_->children.front().command.program; }

void SlowSpawn::begin(SpawnPool& pool) {
  const auto count = static_cast<int>(state_->children.size());
  batch_ = pool.begin(count, [state = state_](int i) { state->start_one(i); });
}

bool SlowSpawn::one_has_ended() const {
  const std::lock_guard lock{state_->mutex};
  return std::ranges::any_of(state_->started, [](const StartedChild& one) {
    return one.pid > 0 && (one.error_number != 0 || has_exited(one.pid));
  });
}

std::vector<Result<ChildProcess>> SlowSpawn::take(const asio::any_io_executor& executor) {
  const std::lock_guard lock{state_->mutex};
  state_->unwanted = true;
  std::vector<Result<ChildProcess>> processes;
  processes.reserve(state_->children.size());
  for (std::size_t i = 0; i < state_->children.size(); ++i) {
    const std::string& program = state_->children[i].command.program;
    const StartedChild& started = state_->started[i];
    if (started.pid < 0 && started.error_number == 0)
      processes.emplace_back(
          Error{Error::Kind::kTimeout,
                fmt::format("no answer from '{}' when it was started: {}", program, kIsItThere)});
    else
      processes.push_back(ChildProcess::adopt(executor, program, started));
  }
  return processes;
}

void SlowSpawn::give_up() {
  const std::lock_guard lock{state_->mutex};
  state_->unwanted = true;
  for (const StartedChild& one : state_->started) put_down(one);
}

/// Turns what became of a start into the process, or into the reason why its program does not run.
Result<ChildProcess> ChildProcess::adopt(const asio::any_io_executor& executor,
                                         const std::string& program, const StartedChild& started) {
  if (started.pid < 0) return start_error(program, started.error_number);
  if (started.error_number != 0) {
    waitid(P_PID, static_cast<id_t>(started.pid), nullptr, WEXITED);  // it is on its way out
    if (started.is_placed) return start_error(program, started.error_number);
    return Error{Error::Kind::kDenied,
                 "cannot bind '" + program +
                     "' to its CPUs (--numa-binding): " + std::strerror(started.error_number)};
  }
  if (started.memory_errno != 0)
    log::warn("cannot place the memory of pid {} near its CPUs: {}", started.pid,
              std::strerror(started.memory_errno));
  return ChildProcess{started.pid, asio::posix::stream_descriptor{executor, started.pidfd}};
}

Result<ChildProcess> ChildProcess::adopt_forked(const asio::any_io_executor& executor, pid_t pid) {
  siginfo_t ended{};
  if (pid > 0 && waitid(P_PID, static_cast<id_t>(pid), &ended, WEXITED | WNOHANG | WNOWAIT) == 0) {
    const int pidfd = watch_child(pid);
    if (pidfd >= 0) return ChildProcess{pid, asio::posix::stream_descriptor{executor, pidfd}};
  }
  return Error{Error::Kind::kUnavailable,
               "process " + std::to_string(pid) + " was not forked for this one"};
}

ChildProcess::ChildProcess(pid_t pid, asio::posix::stream_descriptor pidfd)
    : pid_{pid}, pidfd_{std::move(pidfd)} {}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_{std::exchange(other.pid_, -1)}, pidfd_{std::move(other.pidfd_)} {}

ChildProcess::~ChildProcess() {
  if (pid_ > 0) release();
}

asio::awaitable<ExitStatus> ChildProcess::wait() {
  co_await pidfd_.async_wait(asio::posix::stream_descriptor::wait_read,
                             asio::as_tuple(asio::use_awaitable));
  siginfo_t info{};
  waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT);
  co_return exit_status(info);
}

bool ChildProcess::has_ended() const { return is_released() || has_exited(pid_); }

void ChildProcess::signal(int number) const {
  if (is_released()) return;
  kill(pid_, number);
}

void ChildProcess::signal_group(int signal) const {
  if (is_released()) return;
  // A process that is still on its way to setsid() has no group yet: then it alone is meant.
  if (kill(-pid_, signal) != 0) kill(pid_, signal);
}

void ChildProcess::release() {
  signal_group(SIGKILL);
  reap();
}

void ChildProcess::reap() {
  if (is_released()) return;
  siginfo_t ended{};
  waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOHANG);
  if (ended.si_pid == 0) reap_later();
  pidfd_.close();
  pid_ = -1;
}

/// SIGKILL takes a moment, and the event loop must not wait for it. A process that the kernel
/// cannot end at all is never reaped.
void ChildProcess::reap_later() {
  const int pidfd = fcntl(pidfd_.native_handle(), F_DUPFD_CLOEXEC, 0);
  if (pidfd < 0) return;
  auto dying = std::make_shared<asio::posix::stream_descriptor>(pidfd_.get_executor());
  boost::system::error_code refused;
  dying->assign(pidfd, refused);
  if (refused) {
    ::close(pidfd);
    return;
  }
  dying->async_wait(asio::posix::stream_descriptor::wait_read,
                    [dying, pid = pid_](const boost::system::error_code& error) {
                      if (error) return;
                      waitid(P_PID, static_cast<id_t>(pid), nullptr, WEXITED | WNOHANG);
                    });
}

}  // namespace ddprun
