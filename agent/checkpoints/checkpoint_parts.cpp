#include "agent/checkpoints/checkpoint_parts.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "agent/checkpoints/memory_budget.hpp"

namespace ddprun {

namespace {

bool is_below(const std::string& path, const std::set<std::string>& folders) {
  return std::ranges::any_of(folders_above(path),
                             [&](const std::string& folder) { return folders.contains(folder); });
}

}  // namespace

Merged merge_parts(const std::vector<Snapshot>& parts) {
  std::map<std::string, MergedFile> files;
  Merged merged;
  std::map<std::string, bool> has_own;
  for (std::size_t part = 0; part < parts.size(); ++part) {
    const Snapshot& from = parts[part];
    merged.snapshot.number = from.number;
    merged.snapshot.taken_unix_ms = std::max(merged.snapshot.taken_unix_ms, from.taken_unix_ms);
    for (std::size_t place = 0; place < from.files.size(); ++place) {
      const KeptFile& file = from.files[place];
      const bool own = file.since > from.base;
      const auto [at, is_new] = files.try_emplace(file.facts.path);
      bool& known_own = has_own[file.facts.path];
      if (!is_new && (known_own || !own)) continue;
      at->second = {file, static_cast<int>(part), place};
      known_own = own;
    }
  }
  std::set<std::string> no_folders;  // one node has made a file where another one has a folder
  for (auto& [path, file] : files) {
    if (is_below(path, no_folders)) continue;
    if (file.file.facts.kind != FileFacts::Kind::kFolder) no_folders.insert(path);
    merged.snapshot.files.push_back(file.file);
    merged.files.push_back(std::move(file));
  }
  return merged;
}

std::vector<std::string> removed_since(const Snapshot& before, const Snapshot& now) {
  std::set<std::string> removed;
  for (const KeptFile& file : before.files) {
    const std::string& path = file.facts.path;
    const bool is_gone = find_file(now, path) == nullptr;
    if (is_gone && !is_below(path, removed)) removed.insert(path);
  }
  return {removed.begin(), removed.end()};
}

bool is_removed(const KeptFile& file, int number, const std::set<std::string>& removed) {
  const std::string& path = file.facts.path;
  return file.since < number && (removed.contains(path) || is_below(path, removed));
}

void take_own(Snapshot& whole, const Snapshot& own) {
  for (KeptFile& file : whole.files) {
    const KeptFile* const mine = find_file(own, file.facts.path);
    if (mine != nullptr && mine->facts.kind == file.facts.kind && mine->digest == file.digest &&
        !mine->facts.on_disk)
      file = *mine;
  }
}

Snapshot put_together(const Snapshot& there, const Snapshot& own) {
  Snapshot whole = there;
  const auto beyond = files_beyond(there, 0);
  const std::set<std::string> on_disk{beyond.begin(), beyond.end()};
  for (KeptFile& file : whole.files)
    if (file.facts.kind == FileFacts::Kind::kFile)
      file.facts.on_disk = on_disk.contains(file.facts.path);
  take_own(whole, own);
  return whole;
}

}  // namespace ddprun
