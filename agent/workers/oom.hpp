// Finds out whether the kernel's out-of-memory killer was at work while a worker ran: it compares
// the kernel's counters before and after.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace ddprun {

struct OomCounters {
  std::int64_t cgroup = -1;  // processes of the own cgroup that it killed so far; -1: not known
  std::int64_t system = -1;  // on the whole machine
  std::int64_t limit = -1;   // bytes that the own cgroup may use; -1: not known, or any
};

/// Reads them from memory.events and memory.max, or memory.oom_control and memory.limit_in_bytes,
/// of the own cgroup (https://docs.kernel.org/admin-guide/cgroup-v2.html, cgroup-v1/memory.html)
/// and from /proc/vmstat.
OomCounters read_oom_counters(const std::filesystem::path& root = "/");

using OomReader = std::function<OomCounters()>;

/// A sentence for the report of a worker that SIGKILL ended: what the kernel did between the two
/// readings. "" when the counters stand still.
std::string oom_evidence(const OomCounters& before, const OomCounters& after);

}  // namespace ddprun
