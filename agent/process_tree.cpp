#include "agent/process_tree.hpp"

#include <sys/prctl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/linux_calls.hpp"

namespace ddprun {

namespace {

using namespace asio::experimental::awaitable_operators;

constexpr std::chrono::milliseconds kListDelay{1};

/// The children of this process: the kernel lists them by the thread that started or adopted them.
std::vector<pid_t> children(const std::vector<pid_t>& spared) {
  std::vector<pid_t> pids;
  std::error_code unreadable;
  for (const auto& thread : std::filesystem::directory_iterator{"/proc/self/task", unreadable}) {
    std::ifstream list{thread.path() / "children"};
    for (pid_t pid = 0; list >> pid;)
      if (std::ranges::count(spared, pid) == 0) pids.push_back(pid);
  }
  return pids;
}

/// Reaps those of `pids` that have ended.
void reap(const std::vector<pid_t>& pids) {
  for (const pid_t pid : pids) waitpid(pid, nullptr, WNOHANG);
}

/// Whether there are no children at all. Those that wait(2) does not see, as the guardian, do not
/// count.
bool is_childless() {
  siginfo_t ended{};
  return waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) != 0 && errno == ECHILD;
}

/// Resolves when the child has ended, or at `deadline`.
asio::awaitable<void> ended(pid_t child, asio::steady_timer& deadline) {
  const int pidfd = watch_child(child);
  if (pidfd < 0) co_return;
  asio::posix::stream_descriptor descriptor{deadline.get_executor(), pidfd};
  co_await (descriptor.async_wait(descriptor.wait_read, asio::as_tuple(asio::use_awaitable)) ||
            deadline.async_wait(asio::as_tuple(asio::use_awaitable)));
}

}  // namespace

void adopt_orphans() { prctl(PR_SET_CHILD_SUBREAPER, 1); }

asio::awaitable<int> kill_descendants(std::chrono::milliseconds patience,
                                      std::function<std::vector<pid_t>()> spared) {
  asio::steady_timer deadline{co_await asio::this_coro::executor, patience};
  // Every pass kills one generation, whose children become ours when it has ended. The kernel's
  // list of our children may miss one that is just changing its parent. wait(2) misses none, and an
  // answer that there are no children ends the loop; but while a spared child lives it cannot give
  // that answer. Then the list has to be empty twice, a moment apart.
  for (int empty_lists = 0; empty_lists < 2 && !is_childless();) {
    reap(children(spared()));
    const std::vector<pid_t> left = children(spared());
    if (deadline.expiry() <= asio::steady_timer::clock_type::now())
      co_return static_cast<int>(left.size());
    for (const pid_t pid : left) kill(pid, SIGKILL);
    if (!left.empty()) {
      empty_lists = 0;
      co_await ended(left.front(), deadline);
      continue;
    }
    ++empty_lists;
    if (is_childless()) break;
    asio::steady_timer moment{deadline.get_executor(), kListDelay};
    co_await moment.async_wait(asio::as_tuple(asio::use_awaitable));
  }
  co_return 0;
}

}  // namespace ddprun
