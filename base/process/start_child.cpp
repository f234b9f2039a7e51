#include "base/process/start_child.hpp"

#include <fcntl.h>
#include <linux/mempolicy.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "base/process/file_limit.hpp"
#include "base/system/linux_calls.hpp"

namespace ddprun {

namespace {

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
[[gnu::noinline]] DDPRUN_UNSANITIZED pid_t fork_worker(ChildPlan& plan) {
  const pid_t pid = kVfork();
  if (pid == 0) become_worker(plan);
  return pid;
}

void start_and_watch(ChildPlan& plan, StartedChild& started) {
  // No handler of ours may run in the child, which has our memory.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  started.pid = fork_worker(plan);
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

}  // namespace

StartedChild start_child(const Command& command, const ChildStreams& streams,
                         const std::vector<int>& files) {
  const std::vector<char*> arguments = pointers_to(command.arguments);
  const std::vector<char*> environment = pointers_to(command.environment);
  ChildPlan plan{.program = command.program.c_str(),
                 .arguments = arguments.data(),
                 .environment = environment.data(),
                 .streams = streams,
                 .files = files,
                 .parent = getpid(),
                 .no_signals = {},
                 .cpus = bits(command.placement.cpus),
                 .memory_nodes = bits(command.placement.memory_nodes),
                 .file_limit = original_file_limit()};
  sigemptyset(&plan.no_signals);
  StartedChild started;
  start_and_watch(plan, started);
  return started;
}

OwnFiles::OwnFiles(const NewChild& child) {
  streams_ = {copy_of(child.streams.out), copy_of(child.streams.err), copy_of(child.streams.in)};
  for (const int file : child.files) files_.push_back(copy_of(file));
}

int OwnFiles::copy_of(int file) {
  if (file < 0) return file;
  const Descriptor& copy = open_.emplace_back(fcntl(file, F_DUPFD_CLOEXEC, 0));
  if (!copy.is_open()) error_number_ = errno;
  return copy.number();
}

StartedChild OwnFiles::start(const Command& command) const {
  if (error_number_ != 0) return {.error_number = error_number_};
  return start_child(command, streams_, files_);
}

void put_down(const StartedChild& started) {
  if (started.error_number != 0 || started.pidfd < 0) return;
  kill(-started.pid, SIGKILL);
  close(started.pidfd);
}

}  // namespace ddprun
