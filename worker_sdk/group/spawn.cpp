#include "ddprun/spawn.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "ddprun/worker_env.hpp"
#include "worker_sdk/group/exception_text.hpp"
#include "worker_sdk/group/gpu_files.hpp"
#include "worker_sdk/group/last_exit.hpp"

namespace ddprun::sdk {

namespace {

using Clock = std::chrono::steady_clock;

// A message must fit into a pipe (64 KiB), because it is read only after its writer has ended.
constexpr std::size_t kMessageBytesMax = 32 * 1024;

[[noreturn]] void fail(const std::string& action) {
  throw std::system_error{errno, std::generic_category(), "spawn: cannot " + action};
}

class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_{fd} {}
  Descriptor(Descriptor&& other) noexcept : fd_{std::exchange(other.fd_, -1)} {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

/// Reserves a TCP port on loopback while it lives. The port is bound and not listened on, so that
/// the kernel gives it to no other process and rank 0's store can still listen there.
class FreePort {
 public:
  FreePort() : socket_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)} {
    const int yes = 1;
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    if (setsockopt(socket_.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
        bind(socket_.get(), generic, length) != 0 ||
        getsockname(socket_.get(), generic, &length) != 0)
      fail("find a free port");
    port_ = ntohs(address.sin_port);
  }
  int number() const { return port_; }

 private:
  Descriptor socket_;
  int port_ = 0;
};

struct Child {
  int rank = 0;
  pid_t pid = -1;
  Descriptor process;  // its pidfd
  Descriptor message;  // the text of its exception
  bool running = true;
};

void refuse_threads() {
  const auto threads = std::distance(std::filesystem::directory_iterator{"/proc/self/task"}, {});
  if (threads > 1)
    throw std::logic_error{
        "spawn: this process has " + std::to_string(threads) +
        " threads, which its forks would lack. Call spawn() first thing in main(), before anything "
        "computes with tensors; or start the workers with ddprun"};
}

void refuse_cuda() {
  if (has_initialised_cuda())
    throw std::logic_error{
        "spawn: this process has initialised CUDA, which its forks could not use. Something has "
        "asked "
        "for a GPU, or how many there are: ask visible_gpus(), which does not need CUDA"};
}

void set_environment(int rank, int nprocs, int port) {
  const auto set = [](const char* name, const std::string& value) {
    setenv(name, value.c_str(), 1);
  };
  for (const char* name : {env::kRank, env::kLocalRank, env::kRoleRank})
    set(name, std::to_string(rank));
  for (const char* name : {env::kWorldSize, env::kLocalWorldSize, env::kRoleWorldSize})
    set(name, std::to_string(nprocs));
  set(env::kGroupRank, "0");
  set(env::kGroupWorldSize, "1");
  set(env::kMasterAddr, "127.0.0.1");
  set(env::kMasterPort, std::to_string(port));
  unsetenv(env::kUseAgentStore);
  unsetenv(env::kIntrospection);  // the agent asks the worker that it has started
}

void tell(int pipe, const std::string& message) {
  const std::string text = message.substr(0, kMessageBytesMax);
  // If the message cannot be written, the exit code still says that this worker has failed.
  [[maybe_unused]] const ssize_t written = write(pipe, text.data(), text.size());
}

/// Runs `function` and ends the process. It never returns, so that the child does not go on with
/// what the parent's main() has yet to do.
[[noreturn]] void run_child(const std::function<void(int)>& function, int rank, int pipe) {
  std::signal(SIGTERM, SIG_DFL);  // the parent's handler would speak for the parent
  int code = EXIT_FAILURE;
  try {
    function(rank);
    code = EXIT_SUCCESS;
  } catch (const std::exception& e) {
    tell(pipe, e.what());
  } catch (...) {
    tell(pipe, exception_text().whole);
  }
  leave_process(code);
}

std::string how_it_ended(const Child& child, const siginfo_t& end) {
  std::string text(kMessageBytesMax, '\0');
  const ssize_t got = read(child.message.get(), text.data(), text.size());
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  if (!text.empty()) return "failed: " + text;
  if (end.si_code == CLD_EXITED) return "exited with code " + std::to_string(end.si_status);
  return "was killed by signal " + std::to_string(end.si_status) + " (" + strsignal(end.si_status) +
         ")";
}

class Children {
 public:
  ~Children() {
    signal(SIGKILL);
    for (Child& child : all_)
      if (child.running) reap(child);
  }

  void start(const std::function<void(int)>& function, int rank, int nprocs, int port) {
    std::array<int, 2> pipe{};
    if (pipe2(pipe.data(), O_CLOEXEC) != 0) fail("make a pipe");
    Descriptor reader{pipe[0]};
    const Descriptor writer{pipe[1]};
    const pid_t parent = getpid();
    const pid_t pid = fork();
    if (pid < 0) fail("fork");
    if (pid == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != parent) _exit(EXIT_FAILURE);
      set_environment(rank, nprocs, port);
      run_child(function, rank, writer.get());
    }
    Child child{rank, pid, Descriptor{}, std::move(reader), true};
    child.process = Descriptor{static_cast<int>(syscall(SYS_pidfd_open, pid, 0))};
    all_.push_back(std::move(child));
    if (all_.back().process.get() < 0) fail("watch a process");
  }

  bool any_running() const { return std::ranges::any_of(all_, &Child::running); }

  /// Waits until a child has failed, which it returns, or until all have ended, or until
  /// `deadline`.
  std::optional<SpawnError> wait(std::optional<Clock::time_point> deadline) {
    while (any_running() && (!deadline || Clock::now() < *deadline)) {
      poll_processes(deadline);
      for (Child& child : all_) {
        if (!child.running || !has_ended(child)) continue;
        const siginfo_t end = reap(child);
        if (end.si_code != CLD_EXITED || end.si_status != 0)
          return SpawnError{child.rank, how_it_ended(child, end)};
      }
    }
    return std::nullopt;
  }

  void signal(int number) {
    for (const Child& child : all_)
      if (child.running) kill(child.pid, number);
  }

 private:
  void poll_processes(std::optional<Clock::time_point> deadline) {
    std::vector<pollfd> watched;
    for (const Child& child : all_)
      if (child.running) watched.push_back({child.process.get(), POLLIN, 0});
    const auto left = deadline ? std::chrono::ceil<std::chrono::milliseconds>(
                                     std::max(*deadline - Clock::now(), Clock::duration{}))
                               : std::chrono::milliseconds{-1};
    if (poll(watched.data(), watched.size(), static_cast<int>(left.count())) < 0 && errno != EINTR)
      fail("wait for processes");
  }
  static bool has_ended(const Child& child) {
    pollfd watched{child.process.get(), POLLIN, 0};
    return poll(&watched, 1, 0) == 1;
  }
  static siginfo_t reap(Child& child) {
    siginfo_t end{};
    while (waitid(P_PID, static_cast<id_t>(child.pid), &end, WEXITED) != 0 && errno == EINTR) {
    }
    child.running = false;
    return end;
  }

  std::vector<Child> all_;
};

}  // namespace

int visible_gpus() { return count_gpus("/dev", environment_lookup("CUDA_VISIBLE_DEVICES")); }

void spawn(const std::function<void(int rank)>& function, int nprocs, const SpawnOptions& options) {
  if (nprocs < 1)
    throw std::invalid_argument{"spawn: nprocs is " + std::to_string(nprocs) +
                                ", expected 1 at least"};
  refuse_cuda();  // first: CUDA starts threads, too
  refuse_threads();
  const FreePort port;
  std::cout.flush();
  std::fflush(nullptr);  // or every fork would write what is still in the buffers
  Children children;
  for (int rank = 0; rank < nprocs; ++rank) children.start(function, rank, nprocs, port.number());
  const auto failure = children.wait(std::nullopt);
  if (!failure) return;
  children.signal(SIGTERM);
  const auto deadline = Clock::now() + options.shutdown_timeout;
  while (children.any_running() && Clock::now() < deadline) children.wait(deadline);
  throw *failure;
}

}  // namespace ddprun::sdk
