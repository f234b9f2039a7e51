#include "agent/checkpoints/gather_parts.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "agent/checkpoints/checkpoint_parts.hpp"
#include "base/number_text.hpp"

namespace ddprun {

namespace {

Result<Snapshot> list_of(const CheckpointPart& part, PartSources& sources,
                         const SnapshotsHere& here, Pace& pace) {
  const auto own = std::ranges::find_if(here.all, [&](const Snapshot& snapshot) {
    return is_part(snapshot, part.number, part.part, part.parts) &&
           snapshot.taken_unix_ms == part.taken_unix_ms;
  });
  return own == here.all.end() ? sources.list(part.part, pace) : *own;
}

std::int64_t bytes_lacking(const Snapshot& snapshot, const std::vector<Snapshot>& here) {
  std::set<std::string_view> digests;
  for (const Snapshot& own : here)
    for (const KeptFile& file : own.files) digests.insert(file.digest);
  std::int64_t bytes = 0;
  for (const KeptFile& file : snapshot.files)
    if (!file.facts.on_disk && digests.insert(file.digest).second) bytes += file.facts.bytes;
  return bytes;
}

Result<Snapshot> whole_of(const MemoryTier& tier, PartSources& sources, const SnapshotsHere& here,
                          Pace& pace) {
  std::vector<Snapshot> parts;
  for (const CheckpointPart& part : sources.parts()) {
    auto list = list_of(part, sources, here, pace);
    if (!list) return list.error();
    parts.push_back(std::move(*list));
  }
  if (parts.empty()) return invalid("no node has it in memory");
  Merged merged = merge_parts(parts);
  Snapshot whole = std::move(merged.snapshot);
  whole.parts = 1;
  whole.base = whole.number;  // the next round begins with it
  whole.counts = true;
  take_own(whole, here.current);
  std::map<std::string_view, int> saved_by;
  for (const MergedFile& file : merged.files)
    saved_by.emplace(file.file.facts.path, parts[static_cast<std::size_t>(file.part)].part);
  const MemoryTier::GetFile get = [&](const KeptFile& file, const std::filesystem::path& to) {
    return sources.get(saved_by.at(file.facts.path), file, to, pace);
  };
  const auto gathered = tier.gather(whole, here.all, get);
  return gathered ? Result<Snapshot>{std::move(whole)} : gathered.error();
}

Result<Snapshot> copy_of(const MemoryTier& tier, PartSources& source, const SnapshotsHere& here,
                         const Removed& removed, std::int64_t room, Pace& pace) {
  const auto part = source.parts().front();
  auto copy = source.list(part.part, pace);
  if (!copy) return copy;
  const std::set<std::string> paths{removed.paths.begin(), removed.paths.end()};
  std::erase_if(copy->files,
                [&](const KeptFile& file) { return is_removed(file, removed.number, paths); });
  copy->counts = copy->copy = true;
  copy->taken_unix_ms = part.taken_unix_ms;
  if (const std::int64_t lacking = bytes_lacking(*copy, here.all);
      lacking > std::max<std::int64_t>(room, 0))
    return Error{Error::Kind::kUnavailable, "it needs " + bytes_text(lacking) + " of memory, and " +
                                                bytes_text(std::max<std::int64_t>(room, 0)) +
                                                " are left"};
  const MemoryTier::GetFile get = [&](const KeptFile& file, const std::filesystem::path& to) {
    return source.get(part.part, file, to, pace);
  };
  const auto gathered = tier.gather(*copy, here.all, get);
  return gathered ? copy : gathered.error();
}

}  // namespace

Gathered gather_whole(const MemoryTier& tier, const Givers& givers, const SnapshotsHere& here,
                      Pace& pace) {
  PartSources sources{givers.sources, givers.tls, givers.node};
  auto whole = whole_of(tier, sources, here, pace);
  return {std::move(whole), sources.complaints()};
}

Gathered gather_copy(const MemoryTier& tier, const Givers& givers, const SnapshotsHere& here,
                     const Removed& removed, std::int64_t room, Pace& pace) {
  PartSources sources{givers.sources, givers.tls, givers.node};
  auto copy = copy_of(tier, sources, here, removed, room, pace);
  return {std::move(copy), sources.complaints()};
}

}  // namespace ddprun
