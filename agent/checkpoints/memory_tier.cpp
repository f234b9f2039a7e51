#include "agent/checkpoints/memory_tier.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <map>
#include <set>
#include <system_error>
#include <utility>

#include "agent/checkpoints/checkpoint_link.hpp"
#include "agent/checkpoints/in_threads.hpp"
#include "agent/checkpoints/memory_budget.hpp"
#include "agent/checkpoints/put_back.hpp"
#include "base/clock.hpp"
#include "base/system/whole_file.hpp"
#include "base/text.hpp"

namespace ddprun {

namespace fs = std::filesystem;

namespace {

/// A folder's name for the one on disk: readable, and different for each. Nodes that share one may
/// be on one machine, where each has another folder for its program.
std::string name_for(const CheckpointSpec& spec) {
  const fs::path disk = spec.disk;
  const std::string which = spec.shared ? spec.folder + '\n' + spec.disk : spec.disk;
  return disk.filename().string().substr(0, 64) + "-" + digest_of_text(which);
}

Result<void> make_private(const fs::path& folder) {
  struct stat what {};
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
    return Error{Error::Kind::kUnavailable,
                 "cannot make '" + folder.string() + "': " + std::strerror(errno)};
  if (::lstat(folder.c_str(), &what) != 0 || !S_ISDIR(what.st_mode) || what.st_uid != ::geteuid() ||
      (what.st_mode & 077U) != 0)
    return Error{Error::Kind::kDenied,
                 "'" + folder.string() + "' is another user's, or others may read it: remove it"};
  return {};
}

void make_parents(const fs::path& file) {
  std::error_code failed;  // then the file cannot be made either
  fs::create_directories(file.parent_path(), failed);
}

bool has_link(const fs::path& from, const fs::path& to) {
  make_parents(to);
  return ::link(from.c_str(), to.c_str()) == 0;
}

/// What cannot be removed is in nobody's way.
void remove_tree(const fs::path& path) {
  std::error_code ignored;
  fs::remove_all(path, ignored);
}

}  // namespace

MemoryTier::MemoryTier(fs::path root, fs::path disk, Descriptor lock)
    : root_{std::move(root)},
      folder_{root_ / "out"},
      disk_{std::move(disk)},
      lock_{std::move(lock)} {}

Result<MemoryTier> MemoryTier::open(const fs::path& root, const CheckpointSpec& spec) {
  const fs::path of_user = root / (kMemoryFolders + std::to_string(::geteuid()));
  const fs::path of_job = of_user / name_for(spec);
  auto is_private = make_private(of_user);
  if (is_private) is_private = make_private(of_job);
  // A job that ends may have taken the user's folder away in between.
  if (!is_private && is_private.error().kind != Error::Kind::kDenied && make_private(of_user))
    is_private = make_private(of_job);
  if (!is_private) return is_private.error();
  // Nobody else comes here: so the program may give its folder any permissions.
  for (const fs::path& folder : {of_job / "out", of_job / "kept"})
    if (const auto made = make_folder(folder); !made) return made.error();
  Descriptor lock{
      ::open((of_job / "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)};
  struct stat what {};
  const bool has_lock = lock.is_open() && ::flock(lock.number(), LOCK_EX | LOCK_NB) == 0 &&
                        ::fstat(lock.number(), &what) == 0;
  if (!has_lock || what.st_nlink == 0)  // the other job has just ended, and removes its folder
    return Error{Error::Kind::kDenied,
                 spec.shared
                     ? "another agent on this machine keeps '" + spec.folder +
                           "': start it in another folder, or name another one"
                     : "another job keeps its checkpoints in '" + spec.disk + "' at this moment"};
  return MemoryTier{of_job, spec.disk, std::move(lock)};
}

fs::path MemoryTier::files_of(const Snapshot& snapshot) const {
  std::string name = std::to_string(snapshot.number);
  if (snapshot.parts > 0) name += fmt::format("-{}of{}", snapshot.part, snapshot.parts);
  return root_ / "kept" / name;
}

fs::path MemoryTier::list_of(const Snapshot& snapshot) const {
  return files_of(snapshot).string() + ".json";
}

std::vector<Snapshot> MemoryTier::snapshots() const {
  std::vector<Snapshot> all;
  std::set<fs::path> whole;
  std::vector<fs::path> there;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator{root_ / "kept", failed}) {
    there.push_back(entry.path());
    if (entry.path().extension() != ".json") continue;
    const auto text = read_text(entry.path(), kFileListBytesMax);
    auto snapshot = text ? read_snapshot(*text) : text.error();
    if (!snapshot || list_of(*snapshot) != entry.path()) continue;
    whole.insert({entry.path(), files_of(*snapshot)});
    all.push_back(std::move(*snapshot));
  }
  for (const fs::path& path : there)
    if (!whole.contains(path)) remove_tree(path);  // it was being made when its job was killed
  std::ranges::sort(all, {}, &Snapshot::number);
  return all;
}

Result<KeptFile> MemoryTier::keep(const FileToKeep& file, const Snapshot& previous,
                                  const Snapshot& header, Pace& pace) const {
  const fs::path to = files_of(header) / file.facts.path;
  const fs::path from = folder_ / file.facts.path;
  if (file.how == FileToKeep::How::kAsBefore) {
    const KeptFile before = *find_file(previous, file.facts.path);
    if (file.facts.kind == FileFacts::Kind::kFile)
      has_link(files_of(previous) / file.facts.path, to);  // else it is on disk alone
    return before;
  }
  KeptFile kept{.facts = file.facts, .since = header.number};
  if (file.facts.kind != FileFacts::Kind::kFile || file.facts.on_disk) return kept;
  if (file.how == FileToKeep::How::kLink && has_link(from, to)) {
    auto digest = digest_of(to, pace);
    if (!digest) return digest.error();
    kept.digest = std::move(*digest);
    return kept;
  }
  make_parents(to);
  auto digest = copy_file(from, to, pace);
  kept.copied = digest.has_value();
  // Where memory is full, a link is better than nothing: if the program writes to the file again,
  // its digest tells.
  if (!digest && digest.error().kind == Error::Kind::kUnavailable && has_link(from, to))
    digest = digest_of(to, pace);
  if (!digest) return digest.error();
  kept.digest = std::move(*digest);
  return kept;
}

Result<std::optional<Snapshot>> MemoryTier::take(const FolderState& state, const Snapshot& previous,
                                                 Snapshot header, Pace& pace) const {
  Snapshot snapshot = std::move(header);
  snapshot.taken_unix_ms = unix_time_ms();
  const fs::path place = files_of(snapshot);
  remove_tree(place);
  std::error_code failed;
  fs::create_directory(place, failed);
  const std::vector<FileToKeep> plan = plan_snapshot(state, previous);
  std::vector<Result<KeptFile>> kept(plan.size(), KeptFile{});
  in_threads(plan.size(),
             [&](std::size_t at) { kept[at] = keep(plan[at], previous, snapshot, pace); });
  Result<void> taken{};
  for (std::size_t at = 0; at < plan.size(); ++at) {
    // All files are compared with the folder below.
    snapshot.files.push_back(kept[at] ? std::move(*kept[at]) : KeptFile{.facts = plan[at].facts});
    if (!kept[at] && taken) taken = kept[at].error();
  }
  // A link has made the time of the file's status another one, and nothing else.
  const auto now = list_folder(folder_, disk_);
  const bool same = now && has_same_files(*now, snapshot) &&
                    std::ranges::all_of(open_for_writing(folder_, *now), is_log);
  if (taken && same) {
    taken = write_whole(list_of(snapshot), to_text(snapshot));
    if (taken) return std::optional{std::move(snapshot)};
  }
  remove_tree(place);
  // A file that has gone or grown meanwhile is no failure of ours.
  if (!taken && same) return taken.error();
  return std::optional<Snapshot>{};
}

MemoryTier::Placed MemoryTier::place(const KeptFile& file, const Snapshot& snapshot,
                                     Pace& pace) const {
  const fs::path to = folder_ / file.facts.path;
  const fs::path kept = files_of(snapshot) / file.facts.path;
  std::error_code failed;
  if (file.facts.on_disk && !fs::exists(disk_ / file.facts.path, failed))
    return {invalid("'" + file.facts.path + "' is not on disk any more")};
  if (file.facts.kind == FileFacts::Kind::kLink || file.facts.on_disk) {
    const auto linked =
        place_link(file.facts.on_disk ? disk_ / file.facts.path : fs::path{file.facts.target}, to);
    return {linked ? Result<std::string>{file.digest} : linked.error()};
  }
  if (fs::exists(kept, failed) && !file.copied) {
    const auto digest = digest_of(kept, pace);
    if (digest && *digest == file.digest) {
      fs::remove(to, failed);
      if (has_link(kept, to)) {
        give_facts(to, file.facts);
        return {*digest};
      }
    }
  }
  Placed placed{Error{Error::Kind::kInvalid, "no copy of it is there"}};
  for (const fs::path& from : {kept, disk_ / file.facts.path}) {
    if (!fs::is_regular_file(fs::symlink_status(from, failed))) continue;
    placed.digest = place_copy(from, to, file, pace);
    if (placed.digest && from != kept) placed.bytes_from_disk = file.facts.bytes;
    if (placed.digest || placed.digest.error().kind == Error::Kind::kTimeout) return placed;
    placed.complaints.push_back(placed.digest.error().message);
  }
  placed.digest = invalid("'" + file.facts.path + "': " + placed.digest.error().message);
  return placed;
}

/// Whether a file in the folder that looks as it was is so.
MemoryTier::Stays MemoryTier::check(const KeptFile& file, int trusted_since, Pace& pace) const {
  std::error_code failed;
  // Between rounds the disk is not touched: it may hang, and the newest files are in memory.
  const bool is_gone =
      trusted_since == 0 && file.facts.on_disk && !fs::exists(disk_ / file.facts.path, failed);
  if (is_gone) return Stays::kGone;
  if (file.since < trusted_since || file.digest.empty() || file.facts.on_disk) return Stays::kYes;
  const auto digest = digest_of(folder_ / file.facts.path, pace);
  if (digest && *digest == file.digest) return Stays::kYes;
  return !digest && digest.error().kind == Error::Kind::kTimeout ? Stays::kGivenUp
                                                                 : Stays::kChanged;
}

Result<PutBackResult> MemoryTier::put_back(const Snapshot& snapshot, int trusted_since,
                                           Pace& pace) const {
  remove_fresh(folder_);
  const auto now = list_folder(folder_, disk_);
  if (!now) return now.error();
  PutBackResult result{.snapshot = snapshot, .bytes_cut_off = bytes_cut_off(*now, snapshot)};
  PutBack plan = plan_put_back(*now, snapshot);
  std::error_code failed;
  std::vector<Stays> stays(plan.stay.size());
  in_threads(plan.stay.size(),
             [&](std::size_t at) { stays[at] = check(*plan.stay[at], trusted_since, pace); });
  for (std::size_t at = 0; at < stays.size(); ++at) {
    if (stays[at] == Stays::kGivenUp) return Error{Error::Kind::kTimeout, "it was given up"};
    if (stays[at] == Stays::kYes) continue;
    plan.placed.push_back(plan.stay[at]);
    if (stays[at] == Stays::kChanged)
      result.complaints.push_back("'" + (folder_ / plan.stay[at]->facts.path).string() +
                                  "' has other bytes than were saved");
  }
  // A folder may have in it what list_folder() passes over, as a socket.
  for (const std::string& path : plan.removed) remove_tree(folder_ / path);
  for (const KeptFile* const file : plan.made)
    if (const auto made = make_folder(folder_ / file->facts.path); !made) return made.error();
  std::vector<Placed> placed(plan.placed.size());
  in_threads(placed.size(),
             [&](std::size_t at) { placed[at] = place(*plan.placed[at], snapshot, pace); });
  for (std::size_t at = 0; at < placed.size(); ++at) {
    if (!placed[at].digest) return placed[at].digest.error();
    result.bytes_from_disk += placed[at].bytes_from_disk;
    std::ranges::move(placed[at].complaints, std::back_inserter(result.complaints));
    const auto in_list = static_cast<std::size_t>(plan.placed[at] - snapshot.files.data());
    result.snapshot.files[in_list].digest = *placed[at].digest;
  }
  // From below, for what is put into a folder changes its time.
  for (auto file = result.snapshot.files.rbegin(); file != result.snapshot.files.rend(); ++file) {
    if (file->facts.kind == FileFacts::Kind::kFolder)
      give_facts(folder_ / file->facts.path, file->facts);
    if (auto facts = facts_of(folder_, file->facts.path, disk_)) file->facts = std::move(*facts);
  }
  return result;
}

Result<void> MemoryTier::list_again(const Snapshot& snapshot) const {
  return write_whole(list_of(snapshot), to_text(snapshot));
}

Result<void> MemoryTier::gather(const Snapshot& snapshot, const std::vector<Snapshot>& kept,
                                const GetFile& get) const {
  const fs::path place = files_of(snapshot);
  remove_tree(place);
  std::error_code failed;
  fs::create_directory(place, failed);
  std::map<std::string, fs::path> by_digest;
  for (const Snapshot& own : kept)
    for (const KeptFile& file : own.files)
      if (!file.digest.empty() && !file.facts.on_disk)
        by_digest.emplace(file.digest, files_of(own) / file.facts.path);
  std::vector<Result<void>> got(snapshot.files.size());
  in_threads(got.size(), [&](std::size_t at) {
    const KeptFile& file = snapshot.files[at];
    if (file.facts.kind != FileFacts::Kind::kFile || file.facts.on_disk) return;
    const fs::path to = place / file.facts.path;
    const auto same = by_digest.find(file.digest);
    if (same != by_digest.end() && has_link(same->second, to)) return;
    make_parents(to);
    got[at] = get(file, to);
  });
  const auto failure = std::ranges::find_if(got, [](const auto& one) { return !one; });
  Result<void> gathered =
      failure == got.end() ? write_whole(list_of(snapshot), to_text(snapshot)) : *failure;
  if (!gathered) forget(snapshot);
  return gathered;
}

void MemoryTier::remove_files(const std::vector<KeptFile>& files) const {
  std::error_code failed;
  for (auto file = files.rbegin(); file != files.rend(); ++file) {  // from below
    const auto now = facts_of(folder_, file->facts.path, disk_);
    const bool is_folder = file->facts.kind == FileFacts::Kind::kFolder;
    // A folder in which something was saved since is not empty, and stays.
    if (now && (is_folder || *now == file->facts)) fs::remove(folder_ / file->facts.path, failed);
  }
}

void MemoryTier::leave_on_disk(const std::vector<std::string>& paths,
                               std::vector<Snapshot>& snapshots) const {
  for (const std::string& path : paths) {
    if (!place_link(disk_ / path, folder_ / path)) continue;
    const auto facts = facts_of(folder_, path, disk_);
    for (Snapshot& snapshot : snapshots) {
      ::unlink((files_of(snapshot) / path).c_str());
      for (KeptFile& file : snapshot.files)
        if (facts && file.facts.path == path) file.facts = *facts;
    }
  }
  // The next job reads the lists: without it, it would bring the files back to memory.
  std::error_code failed;
  for (const Snapshot& snapshot : snapshots)
    if (const fs::path list = list_of(snapshot); fs::exists(list, failed))
      write_whole(list, to_text(snapshot));
}

void MemoryTier::forget(const Snapshot& snapshot) const {
  remove_tree(list_of(snapshot));
  remove_tree(files_of(snapshot));
}

void MemoryTier::remove() const {
  remove_tree(root_);
  ::rmdir(root_.parent_path().c_str());  // unless another job is there
}

std::int64_t MemoryTier::free_bytes() const {
  struct statvfs space {};
  if (::statvfs(folder_.c_str(), &space) != 0) return 0;
  return static_cast<std::int64_t>(space.f_bavail) * static_cast<std::int64_t>(space.f_frsize);
}

}  // namespace ddprun
