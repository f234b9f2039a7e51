#include "agent/checkpoints/put_back.hpp"

#include <algorithm>
#include <set>

namespace ddprun {

namespace {

using Kind = FileFacts::Kind;

/// Logs, and the folders that they are in, up to the top. A checkpoint is worth more than a log: so
/// none stays where the snapshot has a file in the place of one of these folders.
std::set<std::string, std::less<>> logs_that_stay(const FolderState& state,
                                                  const Snapshot& snapshot) {
  const auto is_no_folder = [&](const std::string& path) {
    const KeptFile* const file = find_file(snapshot, path);
    return file != nullptr && file->facts.kind != Kind::kFolder;
  };
  std::set<std::string, std::less<>> paths;
  for (const FileFacts& file : state) {
    if (!is_left_out(file)) continue;
    const auto folders = folders_above(file.path);
    if (std::ranges::any_of(folders, is_no_folder)) continue;
    paths.insert(file.path);
    paths.insert(folders.begin(), folders.end());
  }
  return paths;
}

const FileFacts* find_facts(const FolderState& state, const std::string& path) {
  const auto at = std::ranges::lower_bound(state, path, {}, &FileFacts::path);
  return at != state.end() && at->path == path ? &*at : nullptr;
}

/// A folder can stay whatever was in it, a link where it leads to the same place.
bool can_stay(const FileFacts& now, const FileFacts& then) {
  if (now.kind != then.kind) return false;
  return now.kind == Kind::kFolder || (now.kind == Kind::kLink && now.target == then.target) ||
         now == then;
}

}  // namespace

PutBack plan_put_back(const FolderState& now, const Snapshot& snapshot) {
  PutBack plan;
  const auto logs = logs_that_stay(now, snapshot);
  for (auto file = now.rbegin(); file != now.rend(); ++file) {
    if (logs.contains(file->path)) continue;
    const KeptFile* const then = find_file(snapshot, file->path);
    // What is placed takes the place of another file or link by itself.
    const bool replaced =
        then != nullptr && then->facts.kind != Kind::kFolder && file->kind != Kind::kFolder;
    if (then == nullptr || (!can_stay(*file, then->facts) && !replaced))
      plan.removed.push_back(file->path);
  }
  for (const KeptFile& file : snapshot.files) {
    const FileFacts* const there = find_facts(now, file.facts.path);
    const bool stays = there != nullptr && can_stay(*there, file.facts);
    if (!stays)
      (file.facts.kind == Kind::kFolder ? plan.made : plan.placed).push_back(&file);
    else if (file.facts.kind == Kind::kFile)
      plan.stay.push_back(&file);
  }
  return plan;
}

}  // namespace ddprun
