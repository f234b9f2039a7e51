#include "agent/checkpoints/kept_snapshots.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "agent/checkpoints/checkpoint_parts.hpp"

namespace ddprun {

namespace {

std::vector<Snapshot> take(std::vector<Snapshot>& from, const KeptSnapshots::Unwanted& unwanted) {
  // clang 14 does not compile std::ranges::stable_partition
  const auto stay = std::stable_partition(
      from.begin(), from.end(), [&](const Snapshot& snapshot) { return !unwanted(snapshot); });
  std::vector<Snapshot> taken(std::make_move_iterator(stay), std::make_move_iterator(from.end()));
  from.erase(stay, from.end());
  return taken;
}

}  // namespace

bool is_same(const Snapshot& one, const Snapshot& other) {
  return one.number == other.number && one.taken_unix_ms == other.taken_unix_ms;
}

CheckpointPart part_of(const Snapshot& snapshot) {
  CheckpointPart part{.number = snapshot.number,
                      .part = snapshot.part,
                      .parts = snapshot.parts,
                      .taken_unix_ms = snapshot.taken_unix_ms};
  for (const KeptFile& file : snapshot.files) {
    if (file.facts.on_disk) continue;
    const bool is_own = snapshot.parts == 1 || file.since > snapshot.base;
    (is_own ? part.bytes : part.older_bytes) += file.facts.bytes;
  }
  return part;
}

KeptSnapshots::KeptSnapshots(std::vector<Snapshot> found) {
  std::set<int> whole;
  for (const Snapshot& snapshot : found)
    if (snapshot.parts == 1 && !snapshot.copy) whole.insert(snapshot.number);
  for (Snapshot& snapshot : found) {
    const bool is_for_others =
        snapshot.copy || (snapshot.parts > 1 && whole.contains(snapshot.number));
    (is_for_others ? copies_ : own_).push_back(std::move(snapshot));
  }
}

std::vector<Snapshot> KeptSnapshots::all() const {
  std::vector<Snapshot> all = own_;
  all.insert(all.end(), copies_.begin(), copies_.end());
  return all;
}

const Snapshot* KeptSnapshots::find(int number) const {
  const auto at = std::ranges::find(own_, number, &Snapshot::number);
  return at == own_.end() ? nullptr : &*at;
}

const Snapshot* KeptSnapshots::find_part(int number, int part, int parts) const {
  for (const auto* const list : {&own_, &copies_})
    for (const Snapshot& kept : *list)
      if (is_part(kept, number, part, parts)) return &kept;
  return nullptr;
}

int KeptSnapshots::counted() const {
  int newest = 0;
  for (const Snapshot& kept : own_)
    if (kept.counts) newest = std::max(newest, kept.number);
  return newest;
}

void KeptSnapshots::add_whole(Snapshot whole) {
  for (Snapshot& part : take(own_, [&](const Snapshot& own) { return own.number == whole.number; }))
    if (part.parts > 1) add_copy(std::move(part));
  own_.push_back(std::move(whole));
  std::ranges::stable_sort(own_, {}, &Snapshot::number);
}

void KeptSnapshots::add_copy(Snapshot copy) {
  // A number may be given again to what others have saved since.
  std::erase_if(copies_, [&](const Snapshot& old) {
    return is_part(old, copy.number, copy.part, copy.parts);
  });
  copies_.push_back(std::move(copy));
}

std::vector<Snapshot> KeptSnapshots::take_if(const Unwanted& unwanted) {
  return take(own_, unwanted);
}

std::vector<Snapshot> KeptSnapshots::take_copies_if(const Unwanted& unwanted) {
  return take(copies_, unwanted);
}

void KeptSnapshots::replace(const Snapshot& snapshot) {
  for (Snapshot& kept : own_)
    if (is_same(kept, snapshot)) kept = snapshot;
}

std::vector<KeptFile> KeptSnapshots::let_count(const CheckpointOrder& order) {
  const std::set<std::string> paths{order.removed.begin(), order.removed.end()};
  std::vector<KeptFile> gone;
  for (Snapshot& snapshot : own_) {
    if (snapshot.number != order.number) continue;
    snapshot.counts = true;
    snapshot.taken_unix_ms = order.taken_unix_ms;
    std::erase_if(snapshot.files, [&](const KeptFile& file) {
      const bool goes = is_removed(file, order.number, paths);
      if (goes) gone.push_back(file);
      return goes;
    });
  }
  return gone;
}

}  // namespace ddprun
