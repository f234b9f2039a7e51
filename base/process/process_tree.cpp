#include "base/process/process_tree.hpp"

#include <sys/prctl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

#include "base/coroutines.hpp"
#include "base/process/process_facts.hpp"
#include "base/system/linux_calls.hpp"
#include "base/system/whole_file.hpp"

namespace ddprun {

namespace {

constexpr std::chrono::milliseconds kListDelay{1};
/// The kernel may not be able to end the child that is waited for.
constexpr std::chrono::milliseconds kLookAgain{500};

/// The numbers of a process in all PID namespaces from that of /proc down to its own (proc(5),
/// "NSpid"); empty where the kernel does not tell.
std::vector<pid_t> numbers_of(const std::string& process) {
  std::istringstream status{text_if_any("/proc/" + process + "/status")};
  std::vector<pid_t> numbers;
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with("NSpid:")) continue;
    std::istringstream words{line.substr(line.find(':') + 1)};
    for (pid_t number = 0; words >> number;) numbers.push_back(number);
  }
  return numbers;
}

/// A container without a /proc of its own has that of the machine, where processes have other
/// numbers. Returns 0 for a process that has ended.
class NumbersHere {
 public:
  pid_t of(pid_t listed) const {
    if (depth_ < 2) return listed;
    const auto numbers = numbers_of(std::to_string(listed));
    return numbers.size() < depth_ ? 0 : numbers[depth_ - 1];
  }

 private:
  std::size_t depth_ = numbers_of("self").size();
};

/// Whether there are no children at all. Those that wait(2) does not see, as the guardian, do not
/// count.
bool is_childless() {
  siginfo_t ended{};
  return waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) != 0 && errno == ECHILD;
}

/// Resolves when the child has ended, or at `deadline`.
asio::awaitable<void> ended(pid_t child, TimePoint deadline) {
  const int pidfd = watch_child(child);
  if (pidfd < 0) co_return;
  asio::posix::stream_descriptor descriptor{co_await asio::this_coro::executor, pidfd};
  auto end = descriptor.async_wait(descriptor.wait_read, asio::as_tuple(asio::use_awaitable));
  co_await in_time(deadline, std::move(end));
}

}  // namespace

std::vector<pid_t> children_but(const std::vector<pid_t>& spared) {
  const NumbersHere numbers;
  std::vector<pid_t> pids;
  for (const pid_t listed : listed_children("self")) {
    const pid_t pid = numbers.of(listed);
    if (pid > 0 && std::ranges::count(spared, pid) == 0) pids.push_back(pid);
  }
  return pids;
}

Result<void> adopt_orphans() {
  if (prctl(PR_SET_CHILD_SUBREAPER, 1) == 0) return {};
  return Error{Error::Kind::kUnavailable,
               std::string{"the system makes no orphan a child of ddprun (prctl(2), "
                           "PR_SET_CHILD_SUBREAPER: "} +
                   std::strerror(errno) + ")"};
}

void reap_orphans(const std::vector<pid_t>& wanted) {
  for (const pid_t pid : children_but(wanted)) waitpid(pid, nullptr, WNOHANG);
}

asio::awaitable<void> keep_reaping(asio::signal_set& child_ends, std::function<bool()> reap) {
  while (reap()) {
    const auto [error, signal] =
        co_await child_ends.async_wait(asio::as_tuple(asio::use_awaitable));
    if (error) co_return;
  }
}

asio::awaitable<void> await_descendants(TimePoint deadline,
                                        std::function<std::vector<pid_t>()> spared,
                                        std::function<bool()> is_over) {
  while (!is_over() && Clock::now() < deadline) {
    reap_orphans(spared());
    const std::vector<pid_t> left = children_but(spared());
    if (left.empty()) co_return;
    co_await ended(left.front(), std::min(deadline, Clock::now() + kLookAgain));
  }
}

asio::awaitable<int> kill_descendants(std::chrono::milliseconds patience,
                                      std::function<std::vector<pid_t>()> spared) {
  const TimePoint deadline = Clock::now() + patience;
  // Every pass kills one generation, whose children become ours when it has ended. The kernel's
  // list of our children may miss one that is just changing its parent. wait(2) misses none, and an
  // answer that there are no children ends the loop; but while a spared child lives it cannot give
  // that answer. Then the list has to be empty twice, a moment apart.
  for (int empty_lists = 0; empty_lists < 2 && !is_childless();) {
    reap_orphans(spared());
    const std::vector<pid_t> left = children_but(spared());
    if (deadline <= Clock::now()) co_return static_cast<int>(left.size());
    for (const pid_t pid : left) kill(pid, SIGKILL);
    if (!left.empty()) {
      empty_lists = 0;
      co_await ended(left.front(), deadline);
      continue;
    }
    ++empty_lists;
    if (is_childless()) break;
    co_await until(Clock::now() + kListDelay);
  }
  co_return 0;
}

}  // namespace ddprun
