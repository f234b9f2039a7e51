#include <fmt/format.h>

#include <algorithm>

#include "base/number_text.hpp"
#include "launcher/doctor/checks.hpp"
#include "launcher/doctor/node_findings.hpp"

namespace ddprun {

namespace {

// A rank has sockets to its peers, and its data. Nearly every system grants 1024.
constexpr std::int64_t kOpenFilesNeeded = 512;
constexpr std::int64_t kOpenFilesWanted = 1024;
constexpr std::int64_t kOpenFilesAdvised = 65'536;  // the most that is advised
constexpr std::int64_t kTasksNeeded = 256;  // an import of torch starts a thread for each CPU
constexpr std::int64_t kTasksWanted = 2048;
constexpr std::int64_t kLockedBytesWanted = std::int64_t{1} << 30;

bool is_below(std::int64_t limit, std::int64_t needed) {
  return limit != kUnlimited && limit < needed;
}

/// A job starts its workers with the soft limit that it was started with, so that one counts. Up to
/// the hard one, the user can raise it without root.
std::string more_open_files(std::int64_t hard) {
  if (is_below(hard, kOpenFilesWanted))
    return "raise nofile in /etc/security/limits.conf and log in again, LimitNOFILE= of the "
           "service, or docker run --ulimit nofile=65536";
  const std::int64_t advised =
      hard == kUnlimited ? kOpenFilesAdvised : std::min(hard, kOpenFilesAdvised);
  return fmt::format(
      "ulimit -n {} in the shell or job script that starts ddprun; on a host that ssh reaches, "
      "raise the soft nofile in /etc/security/limits.conf",
      advised);
}

void check_open_files(const LimitsReading& limits, NodeFindings& found) {
  if (!limits.open_files) return;
  const std::int64_t soft = *limits.open_files;
  const std::int64_t hard = limits.open_files_hard.value_or(soft);
  const std::string seen =
      fmt::format("{} open files for a process", limit_text(soft)) +
      (soft == hard ? "" : fmt::format(" (it may raise that to {})", limit_text(hard)));
  const Trouble trouble{seen,
                        "sockets to other ranks, data files and DataLoader workers need one each: "
                        "a training ends with \"Too many open files\"",
                        more_open_files(hard)};
  if (is_below(soft, kOpenFilesNeeded))
    found.fail("open-files", trouble);
  else if (is_below(soft, kOpenFilesWanted))
    found.warn("open-files", trouble);
  else
    found.ok("open-files", seen);
}

void check_processes(const LimitsReading& limits, NodeFindings& found) {
  if (!limits.processes) return;
  const std::string seen =
      fmt::format("{} processes and threads for this user", limit_text(*limits.processes));
  const Trouble trouble{seen,
                        "each rank has a thread for each CPU, and more for data and "
                        "communication: a thread cannot be started, and the rank ends",
                        "raise nproc in /etc/security/limits.conf (and limits.d)"};
  if (limits.may_exceed_processes)
    found.ok("processes", seen + ", which does not bind this one");
  else if (is_below(*limits.processes, kTasksNeeded))
    found.fail("processes", trouble);
  else if (is_below(*limits.processes, kTasksWanted))
    found.warn("processes", trouble);
  else
    found.ok("processes", seen);
}

void check_cgroup_tasks(const LimitsReading& limits, NodeFindings& found) {
  if (!limits.cgroup_tasks_max) return;
  const std::int64_t most = *limits.cgroup_tasks_max;
  const std::int64_t now = limits.cgroup_tasks.value_or(0);
  const std::string seen =
      fmt::format("{} processes and threads in this cgroup, at most {}", now, limit_text(most));
  const Trouble trouble{seen,
                        "when they are used up, no thread can be started: ranks end with "
                        "\"Resource temporarily unavailable\"",
                        "raise the limit: docker run --pids-limit, podPidsLimit of Kubernetes, "
                        "TasksMax= of systemd"};
  const std::int64_t left = most == kUnlimited ? kUnlimited : std::max<std::int64_t>(most - now, 0);
  if (is_below(left, kTasksNeeded))
    found.fail("cgroup-tasks", trouble);
  else if (is_below(left, kTasksWanted))
    found.warn("cgroup-tasks", trouble);
  else
    found.ok("cgroup-tasks", seen);
}

/// RDMA alone locks memory, so without its cards any limit will do.
void check_locked_memory(const NodeReading& node, NodeFindings& found) {
  const LimitsReading& limits = node.limits;
  if (!limits.locked_bytes) return;
  const std::string seen = fmt::format(
      "{} of locked memory", *limits.locked_bytes == kUnlimited ? limit_text(kUnlimited)
                                                                : bytes_text(*limits.locked_bytes));
  if (node.infiniband.empty() || limits.locks_all_memory ||
      !is_below(*limits.locked_bytes, kLockedBytesWanted))
    return found.ok("locked-memory", seen);
  found.fail("locked-memory",
             {seen,
              "InfiniBand and RoCE lock the memory that they send: NCCL and MPI end with "
              "\"Cannot allocate memory\" when they register it",
              "set memlock to unlimited in /etc/security/limits.conf, LimitMEMLOCK=infinity for "
              "slurmd or sshd, docker run --ulimit memlock=-1"});
}

}  // namespace

Findings check_limits(const NodeReading& node) {
  NodeFindings found{node};
  check_open_files(node.limits, found);
  check_processes(node.limits, found);
  check_cgroup_tasks(node.limits, found);
  check_locked_memory(node, found);
  return found.take();
}

}  // namespace ddprun
