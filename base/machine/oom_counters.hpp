// What the kernel's out-of-memory killer has done.
#pragma once

#include <cstdint>
#include <filesystem>

namespace ddprun {

/// Finds out whether the kernel's out-of-memory killer was at work while a worker ran: it compares
/// the kernel's counters before and after.
struct OomCounters {
  std::int64_t cgroup = -1;  // processes of the own cgroup that it killed so far; -1: not known
  std::int64_t system = -1;  // on the whole machine
  std::int64_t limit = -1;   // bytes that the own cgroup may use; -1: not known, or any
};

/// Reads them from memory.events and memory.max, or memory.oom_control and memory.limit_in_bytes,
/// of the own cgroup (https://docs.kernel.org/admin-guide/cgroup-v2.html, cgroup-v1/memory.html)
/// and from /proc/vmstat.
OomCounters read_oom_counters(const std::filesystem::path& root = "/");

/// How many processes of the own cgroup it killed between the two readings; 0, too, if that is not
/// known.
std::int64_t killed_in_cgroup(const OomCounters& before, const OomCounters& after);

}  // namespace ddprun
