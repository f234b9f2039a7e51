#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "base/number_text.hpp"
#include "launcher/doctor/check/checks.hpp"
#include "launcher/doctor/check/finding.hpp"

namespace ddprun {

namespace {

// A rank has sockets to its peers, and its data. Nearly every system grants 1024.
constexpr std::int64_t kOpenFilesNeeded = 512;
constexpr std::int64_t kOpenFilesWanted = 1024;
constexpr std::int64_t kOpenFilesAdvised = 65'536;  // the most that is advised
constexpr std::int64_t kTasksNeeded = 256;  // an import of torch starts a thread for each CPU
constexpr std::int64_t kTasksWanted = 2048;
constexpr std::int64_t kLockedBytesWanted = std::int64_t{1} << 30;

/// A job starts its workers with the soft limit that it was started with, so that one counts. Up to
/// the hard one, the user can raise it without root.
std::string more_open_files(std::int64_t hard) {
  if (hard != kUnlimited && hard < kOpenFilesWanted)
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
  found.add(severity_of(soft, kOpenFilesNeeded, kOpenFilesWanted), "open-files",
            {seen,
             "sockets to other ranks, data files and DataLoader workers need one each: a training "
             "ends with \"Too many open files\"",
             more_open_files(hard)});
}

void check_processes(const LimitsReading& limits, NodeFindings& found) {
  if (!limits.processes) return;
  const std::string seen =
      fmt::format("{} processes and threads for this user", limit_text(*limits.processes));
  if (limits.may_exceed_processes)
    return found.ok("processes", seen + ", which does not bind this one");
  found.add(severity_of(*limits.processes, kTasksNeeded, kTasksWanted), "processes",
            {seen,
             "each rank has a thread for each CPU, and more for data and communication: a thread "
             "cannot be started, and the rank ends",
             "raise nproc in /etc/security/limits.conf (and limits.d)"});
}

void check_cgroup_tasks(const LimitsReading& limits, NodeFindings& found) {
  if (!limits.cgroup_tasks_max) return;
  const std::int64_t most = *limits.cgroup_tasks_max;
  const std::int64_t now = limits.cgroup_tasks.value_or(0);
  const std::string seen =
      fmt::format("{} processes and threads in this cgroup, at most {}", now, limit_text(most));
  const std::int64_t left = most == kUnlimited ? kUnlimited : std::max<std::int64_t>(most - now, 0);
  found.add(severity_of(left, kTasksNeeded, kTasksWanted), "cgroup-tasks",
            {seen,
             "when they are used up, no thread can be started: ranks end with \"Resource "
             "temporarily unavailable\"",
             "raise the limit: docker run --pids-limit, podPidsLimit of Kubernetes, TasksMax= of "
             "systemd"});
}

/// RDMA alone locks memory, so without its cards any limit will do.
void check_locked_memory(const NodeReading& node, NodeFindings& found) {
  const LimitsReading& limits = node.limits;
  if (!limits.locked_bytes) return;
  const std::string seen = fmt::format(
      "{} of locked memory", *limits.locked_bytes == kUnlimited ? limit_text(kUnlimited)
                                                                : bytes_text(*limits.locked_bytes));
  const bool binds = !node.infiniband.empty() && !limits.locks_all_memory;
  found.add(binds ? severity_of(*limits.locked_bytes, kLockedBytesWanted, kLockedBytesWanted)
                  : Severity::kOk,
            "locked-memory",
            {seen,
             "InfiniBand and RoCE lock the memory that they send: NCCL and MPI end with "
             "\"Cannot allocate memory\" when they register it",
             "set memlock to unlimited in /etc/security/limits.conf, LimitMEMLOCK=infinity for "
             "slurmd or sshd, docker run --ulimit memlock=-1"});
}

}  // namespace

Findings check_limits(const NodeReading& node) {
  NodeFindings found{node.node};
  check_open_files(node.limits, found);
  check_processes(node.limits, found);
  check_cgroup_tasks(node.limits, found);
  check_locked_memory(node, found);
  return found.take();
}

namespace {

constexpr std::int64_t kDiskNeeded = std::int64_t{64} << 20;
constexpr std::int64_t kDiskWanted = std::int64_t{1} << 30;
constexpr std::int64_t kFilesNeeded = 100;
constexpr std::int64_t kFilesWanted = 10'000;
constexpr double kSlowWriteMs = 1000;

/// "logs-folder", "checkpoints-folder".
std::string subject_of(const FolderReading& folder) {
  return (folder.role == "temporary files" ? "tmp" : folder.role) + "-folder";
}

/// Where a file was tried: "/data (ext4)".
std::string place_of_folder(const FolderReading& folder) {
  const std::string& place = folder.tried.empty() ? folder.path : folder.tried;
  return folder.file_system.empty() ? place : fmt::format("{} ({})", place, folder.file_system);
}

/// A folder that is misspelled is not there, either, so it is named.
std::string if_not_there(const FolderReading& folder) {
  return folder.tried.empty() ? "" : fmt::format("{} is not there yet; ", folder.path);
}

const char* advice_on_folder(const FolderReading& folder) {
  switch (folder.error_number.value_or(0)) {
    case ENOSPC:
      return "remove what is not needed there, or name another folder";
    case EDQUOT:
      return "remove what is not needed there, ask for a higher quota, or name another folder";
    case EROFS:
      return "mount it writable (mount -o remount,rw), or name another folder";
    case ENOTDIR:
      return "name a folder";
    case EACCES:
    case EPERM:
      return "give it to this user, or name another folder";
    default:
      return "make the folder, mount it, or give it to this user";
  }
}

void check_space(const FolderReading& folder, NodeFindings& found) {
  const auto bytes = severity_of(folder.free_bytes.value_or(kUnlimited), kDiskNeeded, kDiskWanted);
  const auto files =
      severity_of(folder.free_files.value_or(kUnlimited), kFilesNeeded, kFilesWanted);
  if (bytes == Severity::kOk && files != Severity::kOk)
    return found.add(files, "disk",
                     {fmt::format("{} more can be made in {}", counted(*folder.free_files, "file"),
                                  place_of_folder(folder)),
                      "a file system without free inodes is full, however many bytes are free",
                      "remove files there, or ask for a higher quota"});
  if (folder.free_bytes)
    found.add(
        bytes, "disk",
        {fmt::format("{} free in {}", bytes_text(*folder.free_bytes), place_of_folder(folder)),
         fmt::format("the job writes its {} there, and fails when the disk is full", folder.role),
         "remove what is not needed there, or name another folder"});
}

void check_folder(const FolderReading& folder, NodeFindings& found) {
  if (folder.role == "working" && !folder.error.empty())
    return found.fail("working-folder",
                      {fmt::format("{}: {}", folder.path, folder.error),
                       "the job is to work there: its script and relative paths are not found",
                       "make the folder there, share it, or name another one: --remote-dir"});
  if (!folder.error.empty())
    return found.fail(
        subject_of(folder),
        {fmt::format("{}{}: {}", if_not_there(folder), place_of_folder(folder), folder.error),
         fmt::format("the job writes its {} there", folder.role), advice_on_folder(folder)});
  if (folder.write_ms) {
    const std::string seen =
        fmt::format("{}a small file in {} took {:.0f} ms with fsync", if_not_there(folder),
                    place_of_folder(folder), *folder.write_ms);
    found.add(warning_if(*folder.write_ms >= kSlowWriteMs), subject_of(folder),
              {seen, "each checkpoint and each log waits for this disk or its server",
               "see whether somebody else writes there, or whether its server is ill"});
  }
  check_space(folder, found);
}

}  // namespace

Findings check_folders(const NodeReading& node) {
  NodeFindings found{node.node};
  for (const FolderReading& folder : node.folders) check_folder(folder, found);
  return found.take();
}

Findings check_node(const NodeReading& node, bool alone) {
  Findings all;
  for (Findings part : {check_python(node), check_gpus(node), check_cpus(node), check_memory(node),
                        check_checkpoints(node), check_folders(node), check_limits(node),
                        check_names(node, alone), check_network(node, alone)})
    append(std::move(part), all);
  return all;
}

}  // namespace ddprun
