#include <fmt/format.h>

#include <algorithm>

#include "agent/checkpoints/memory_budget.hpp"
#include "base/number_text.hpp"
#include "launcher/doctor/check/checks.hpp"
#include "launcher/doctor/check/finding.hpp"

namespace ddprun {

namespace {

constexpr char kSubject[] = "checkpoints-memory";
constexpr char kDiskAlone[] = "workers save to the disk directly, and wait for it";
constexpr char kMoreMemory[] =
    "make /dev/shm larger, ask for more memory, or do nothing: the job runs so, too";

/// nullopt: what is free in /dev/shm is not known.
std::optional<MemoryRoom> room_of(const MemoryReading& memory) {
  if (!memory.shm_free_bytes) return std::nullopt;
  MemoryRoom room{.file_system = *memory.shm_free_bytes, .machine = memory.available_bytes};
  if (memory.cgroup_max_bytes.value_or(kUnlimited) != kUnlimited)
    room.cgroup =
        std::max<std::int64_t>(*memory.cgroup_max_bytes - memory.cgroup_used_bytes.value_or(0), 0);
  return room;
}

/// Two are kept beside the one that is being written.
bool holds_all(const CheckpointsReading& checkpoints, const MemoryRoom& room) {
  return bytes_short(2 * checkpoints.last_bytes + checkpoints.save_bytes, room) == 0;
}

}  // namespace

Findings check_checkpoints(const NodeReading& node) {
  const auto room = room_of(node.memory);
  if (!node.checkpoints || !room) return {};
  const CheckpointsReading& there = *node.checkpoints;
  NodeFindings found{node.node};
  const std::string short_of = no_room_for(there.save_bytes, *room);
  const std::string free = bytes_text(bytes_free(*room));
  const std::string last = fmt::format("{} ({})", there.newest, bytes_text(there.last_bytes));
  if (!short_of.empty())
    found.warn(kSubject, {short_of, kDiskAlone, kMoreMemory});
  else if (there.newest.empty())
    found.ok(kSubject,
             fmt::format("{} of memory is free for checkpoints, none is there yet", free));
  else
    found.add(warning_if(!holds_all(there, *room)), kSubject,
              {fmt::format("{} of memory is free for checkpoints such as {}", free, last),
               fmt::format("two are kept beside the one that is being written; with less room, {}, "
                           "from the next restart on",
                           kDiskAlone),
               kMoreMemory});
  return found.take();
}

}  // namespace ddprun
