#include "agent/checkpoints/memory_budget.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "base/number_text.hpp"

namespace ddprun {

namespace {

/// For all else that uses the same memory.
constexpr std::int64_t kMarginBytes = std::int64_t{64} << 20;

bool has_number(const std::string& path) {
  return std::ranges::any_of(path, [](unsigned char c) { return std::isdigit(c) != 0; });
}

/// Tells which files a program has left behind, for it has gone on to other numbers.
class LeftBehind {
 public:
  explicit LeftBehind(const Snapshot& snapshot) {
    for (const KeptFile& file : snapshot.files) {
      int& newest = newest_[{shape_of(file.facts.path), file.copied}];
      newest = std::max(newest, file.since);
    }
  }

  /// Later files of its shape are there, and none of them was written to again.
  bool has(const KeptFile& file) const {
    return newest(file, false) > file.since && newest(file, true) <= file.since;
  }

 private:
  int newest(const KeptFile& file, bool copied) const {
    const auto at = newest_.find({shape_of(file.facts.path), copied});
    return at == newest_.end() ? 0 : at->second;
  }

  std::map<std::pair<std::string, bool>, int> newest_;
};

/// Where the least is free, as a sentence begins, and how one gets more.
struct Least {
  std::int64_t bytes;
  std::string_view where;
  std::string_view more;
};

Least least_of(const MemoryRoom& room) {
  constexpr std::string_view kOfGroup = " (memory.max; in Slurm --mem)";
  // What workers take is not known while none runs. The next save would end as that one did.
  if (room.has_killed) return {0, "beside the workers the control group of this job", kOfGroup};
  Least least{room.file_system, "/dev/shm",
              " (docker run --shm-size=...; in Kubernetes a volume `emptyDir: {medium: Memory}` "
              "at /dev/shm)"};
  if (room.machine && *room.machine < least.bytes) least = {*room.machine, "this machine", ""};
  if (room.cgroup && *room.cgroup < least.bytes)
    least = {*room.cgroup, "the control group of this job", kOfGroup};
  return least;
}

/// Older snapshots' files come first, and of one snapshot those that were written first.
std::vector<const KeptFile*> oldest_first(const Snapshot& snapshot) {
  std::vector<const KeptFile*> files;
  for (const KeptFile& file : snapshot.files)
    if (file.facts.kind == FileFacts::Kind::kFile && !file.facts.on_disk) files.push_back(&file);
  std::ranges::stable_sort(files, {}, [](const KeptFile* file) {
    return std::pair{file->since, file->facts.modified_ns};
  });
  return files;
}

}  // namespace

std::int64_t bytes_of_save(const Snapshot* last, std::int64_t cut_off) {
  const bool is_unknown = last == nullptr || last->files.empty();
  const std::int64_t bytes = std::max(is_unknown ? 0 : new_bytes(*last), cut_off);
  return std::max(bytes + bytes / 4, is_unknown ? kUnknownSaveBytes : 0);
}

std::int64_t bytes_cut_off(const FolderState& folder, const Snapshot& snapshot) {
  std::int64_t bytes = 0;
  for (const FileFacts& file : folder) {
    if (file.kind != FileFacts::Kind::kFile || file.on_disk || is_left_out(file)) continue;
    const KeptFile* const kept = find_file(snapshot, file.path);
    if (kept == nullptr || kept->facts != file) bytes += file.bytes;
  }
  return bytes;
}

std::int64_t bytes_free(const MemoryRoom& room) { return least_of(room).bytes; }

std::int64_t bytes_short(std::int64_t bytes, const MemoryRoom& room) {
  return std::max<std::int64_t>(0, bytes + kMarginBytes - least_of(room).bytes);
}

std::string no_room_for(std::int64_t bytes, const MemoryRoom& room) {
  if (bytes_short(bytes, room) == 0) return "";
  const Least least = least_of(room);
  return fmt::format("a checkpoint needs {} of memory, and {} has {} left{}",
                     bytes_text(bytes + kMarginBytes), least.where, bytes_text(least.bytes),
                     least.more);
}

std::vector<std::string> files_to_leave_on_disk(const Snapshot& snapshot, const Snapshot& there,
                                                std::int64_t bytes) {
  std::vector<std::string> paths;
  const LeftBehind left_behind{snapshot};
  for (const KeptFile* const file : oldest_first(snapshot)) {
    if (bytes <= 0 || file->since >= snapshot.number - 1) break;
    const KeptFile* const disk = find_file(there, file->facts.path);
    const bool is_there = disk != nullptr && disk->digest == file->digest && !disk->digest.empty();
    if (!is_there || !left_behind.has(*file)) continue;
    paths.push_back(file->facts.path);
    bytes -= file->facts.bytes;
  }
  return paths;
}

std::vector<std::string> files_beyond(const Snapshot& there, std::int64_t bytes) {
  std::vector<std::string> paths;
  auto files = oldest_first(there);
  std::ranges::reverse(files);
  for (const KeptFile* const file : files) {
    bytes -= file->facts.bytes;
    if (bytes < 0 && has_number(file->facts.path)) paths.push_back(file->facts.path);
  }
  return paths;
}

}  // namespace ddprun
