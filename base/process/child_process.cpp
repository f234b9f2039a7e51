#include "base/process/child_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/mempolicy.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "base/process/file_limit.hpp"
#include "base/system/left_behind.hpp"
#include "base/system/linux_calls.hpp"

namespace ddprun {

struct ChildProcess::Started {
  pid_t pid = -1;
  int pidfd = -1;         // from watch_child(), once the program runs
  int error_number = 0;   // why the program does not run
  bool is_placed = true;  // false: that was because it may not run on its CPUs
  int memory_errno = 0;   // why its memory is not where it was wished
};

namespace {

using Started = ChildProcess::Started;

/// Sets of CPUs and of NUMA nodes, as the kernel takes them: a bit for each number.
using CpuMask = std::vector<unsigned long>;
using NodeMask = std::vector<unsigned long>;

std::vector<unsigned long> bits(const std::vector<int>& numbers) {
  constexpr std::size_t kBits = 8 * sizeof(unsigned long);
  std::vector<unsigned long> mask;
  for (const int number : numbers) {
    const auto bit = static_cast<std::size_t>(number);
    mask.resize(std::max(mask.size(), bit / kBits + 1));
    mask[bit / kBits] |= 1UL << (bit % kBits);
  }
  if (!mask.empty())
    mask.push_back(0);  // set_mempolicy(2) reads one bit less than the length it
                        // gets
  return mask;
}

/// What the child needs, laid out by the parent: the child shares the parent's memory until execve
/// and must not allocate.
struct ChildPlan {
  const char* program;
  char* const* arguments;
  char* const* environment;
  ChildStreams streams;
  std::vector<int> files;
  pid_t parent;
  sigset_t no_signals;
  CpuMask cpus;
  NodeMask memory_nodes;
  const rlimit* file_limit;
  int failed_errno = 0;  // these three are written by the child, read by the parent
  int memory_errno = 0;
  bool is_placed = true;
};

/// Binds the child to its CPUs, or returns false with errno. Where its memory is placed is only a
/// wish: when the kernel refuses that, the worker runs all the same.
DDPRUN_UNSANITIZED bool take_place(ChildPlan& plan) {
  if (!plan.cpus.empty() &&
      sched_setaffinity(0, plan.cpus.size() * sizeof(plan.cpus[0]),
                        reinterpret_cast<const cpu_set_t*>(plan.cpus.data())) != 0)
    return false;
  if (plan.memory_nodes.empty()) return true;
  const unsigned long bits = plan.memory_nodes.size() * 8 * sizeof(plan.memory_nodes[0]);
  // Kernels before 5.15 know no preference for several nodes, only a strict binding.
  if (syscall(SYS_set_mempolicy, MPOL_PREFERRED_MANY, plan.memory_nodes.data(), bits) != 0 &&
      syscall(SYS_set_mempolicy, MPOL_BIND, plan.memory_nodes.data(), bits) != 0)
    plan.memory_errno = errno;
  return true;
}

/// Handlers belong to the parent's program; SIG_IGN is the user's wish (nohup), except for SIGPIPE,
/// which the agent itself ignores.
DDPRUN_UNSANITIZED void reset_signal_handlers() {
  struct sigaction action {};
  for (int signal = 1; signal < NSIG; ++signal) {
    if (sigaction(signal, nullptr, &action) != 0) continue;
    const bool ignored = action.sa_handler == SIG_IGN && signal != SIGPIPE;
    if (action.sa_handler != SIG_DFL && !ignored) take_default_action(signal);
  }
}

/// Gives the child the files that it is meant to have as 3, 4, ..., and closes all others of the
/// parent's. They are lifted above these numbers first, because one file may have the number that
/// another is to get.
DDPRUN_UNSANITIZED void take_files(ChildPlan& plan) {
  const int first = STDERR_FILENO + 1;
  const int count = static_cast<int>(plan.files.size());
  for (int i = 0; i < count; ++i) plan.files[i] = fcntl(plan.files[i], F_DUPFD, first + count);
  for (int i = 0; i < count; ++i) dup2(plan.files[i], first + i);
  close_files_from(first + count);
}

/// Runs in the child, in the parent's memory, while the calling thread is suspended.
[[noreturn]] DDPRUN_UNSANITIZED void become_worker(ChildPlan& plan) {
  setsid();
  reset_signal_handlers();
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != plan.parent) _exit(127);  // the agent died before the line above
  if (plan.streams.in >= 0) dup2(plan.streams.in, STDIN_FILENO);
  if (plan.streams.out >= 0) dup2(plan.streams.out, STDOUT_FILENO);
  if (plan.streams.err >= 0) dup2(plan.streams.err, STDERR_FILENO);
  take_files(plan);
  if (!take_place(plan)) {
    plan.failed_errno = errno;
    plan.is_placed = false;
    _exit(127);
  }
  if (plan.file_limit != nullptr) setrlimit(RLIMIT_NOFILE, plan.file_limit);
  sigprocmask(SIG_SETMASK, &plan.no_signals, nullptr);
  execve(plan.program, plan.arguments, plan.environment);
  plan.failed_errno = errno;
  _exit(127);
}

Error start_error(const std::string& program, int error_number) {
  const auto kind = error_number == ENOENT                             ? Error::Kind::kNotFound
                    : error_number == EAGAIN || error_number == ENOMEM ? Error::Kind::kUnavailable
                                                                       : Error::Kind::kDenied;
  const char* const limit =
      error_number == EAGAIN ? "; the limit of processes is reached (ulimit -u, pids.max)" : "";
  return {kind, "cannot start '" + program + "': " + std::strerror(error_number) + limit};
}

#ifdef __SANITIZE_THREAD__
// ThreadSanitizer makes a fork of vfork(), whose memory is its own. It does not know the other
// name.
extern "C" pid_t __vfork() __attribute__((returns_twice));
constexpr auto kVfork = __vfork;
#else
constexpr auto kVfork = vfork;
#endif

/// Starts the child by vfork(2), and returns its number, or -1 and errno. The child goes on in this
/// frame, so nothing else may be in it.
///
/// It is not clone(2): before version 2.24, glibc leaves the thread that calls it with CLONE_VM
/// without its own number, and a join of that thread fails (sourceware.org bug 19957).
[[gnu::noinline]] DDPRUN_UNSANITIZED pid_t start_child(ChildPlan& plan) {
  const pid_t pid = kVfork();
  if (pid == 0) become_worker(plan);
  return pid;
}

void start_and_watch(ChildPlan& plan, Started& started) {
  // No handler of ours may run in the child, which has our memory.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  started.pid = start_child(plan);
  started.error_number = started.pid < 0 ? errno : plan.failed_errno;
  started.memory_errno = plan.memory_errno;
  started.is_placed = plan.is_placed;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (started.error_number != 0) return;
  started.pidfd = watch_child(started.pid);
  if (started.pidfd >= 0) return;
  started.error_number = errno;  // ESRCH: it has been killed and reaped by another process
  if (errno != ESRCH) kill(started.pid, SIGKILL);
}

/// Starts one child. It touches nothing but its arguments, so any thread may call it.
Started start(const NewChild& child) {
  const Command& command = child.command;
  const std::vector<char*> arguments = pointers_to(command.arguments);
  const std::vector<char*> environment = pointers_to(command.environment);
  ChildPlan plan{.program = command.program.c_str(),
                 .arguments = arguments.data(),
                 .environment = environment.data(),
                 .streams = child.streams,
                 .files = child.files,
                 .parent = getpid(),
                 .no_signals = {},
                 .cpus = bits(command.placement.cpus),
                 .memory_nodes = bits(command.placement.memory_nodes),
                 .file_limit = original_file_limit()};
  sigemptyset(&plan.no_signals);
  Started started;
  start_and_watch(plan, started);
  return started;
}

/// Kills one that is not wanted. It is reaped as orphans are, for a dead disk may keep it.
void put_down(const Started& started) {
  if (started.error_number != 0 || started.pidfd < 0) return;
  kill(-started.pid, SIGKILL);
  close(started.pidfd);
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
  std::vector<Started> started(children.size());
  pool.for_each(static_cast<int>(children.size()), [&](int i) { started[i] = start(children[i]); });
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
  std::vector<Started> started;
  bool unwanted = false;

  bool is_unwanted() {
    const std::lock_guard lock{mutex};
    return unwanted;
  }
  void start_one(int i) {
    if (is_unwanted()) return;
    const Started one = start(children[i]);
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
  return std::ranges::any_of(state_->started, [](const Started& one) {
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
    const Started& started = state_->started[i];
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
  for (const Started& one : state_->started) put_down(one);
}

/// Turns what became of a start into the process, or into the reason why its program does not run.
Result<ChildProcess> ChildProcess::adopt(const asio::any_io_executor& executor,
                                         const std::string& program, const Started& started) {
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
