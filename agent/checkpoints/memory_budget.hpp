// How much memory checkpoints may take, so that no save fails for want of it and the kernel kills
// nobody for it. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent/checkpoints/snapshot.hpp"

namespace ddprun {

/// As long as nobody knows how large a checkpoint of this program is, that much has to be there.
inline constexpr std::int64_t kUnknownSaveBytes = std::int64_t{1} << 30;

/// What is free, in bytes.
struct MemoryRoom {
  std::int64_t file_system = 0;         // /dev/shm
  std::optional<std::int64_t> machine;  // MemAvailable
  std::optional<std::int64_t> cgroup;   // the control group with the least left
  bool has_killed = false;  // the kernel killed a worker for want of memory beside checkpoints
};

/// The least of them.
std::int64_t bytes_free(const MemoryRoom& room);

/// What a save takes: the last one, or as much as there was of one that was cut off, and a quarter
/// more, for the next may be larger. `last`: the newest snapshot; nullptr: none.
std::int64_t bytes_of_save(const Snapshot* last, std::int64_t cut_off = 0);

/// The bytes in the folder that the snapshot does not have: workers that have ended were saving,
/// and perhaps they have ended because there was no more room.
std::int64_t bytes_cut_off(const FolderState& folder, const Snapshot& snapshot);

/// A sentence where that does not fit: what is short, and what to do; "" where it fits.
std::string no_room_for(std::int64_t bytes, const MemoryRoom& room);

/// How many bytes are to be given up so that a save fits; 0: none.
std::int64_t bytes_short(std::int64_t bytes, const MemoryRoom& room);

/// Files of `snapshot` that make that many bytes free if they are left on disk: the oldest, of
/// those that are `there`, are of no snapshot of the last two, and have a number in their path from
/// which the program has gone on to others: a file that it writes to again would be changed on
/// disk. As many as there are.
std::vector<std::string> files_to_leave_on_disk(const Snapshot& snapshot, const Snapshot& there,
                                                std::int64_t bytes);

/// The files of a snapshot that is on disk that are to stay there when it is put back: all but the
/// newest `bytes` of those with a number in their path.
std::vector<std::string> files_beyond(const Snapshot& there, std::int64_t bytes);

}  // namespace ddprun
