#include "agent/checkpoints/disk_tier.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "agent/checkpoints/checkpoint_parts.hpp"
#include "base/clock.hpp"
#include "base/descriptor.hpp"
#include "base/system/whole_file.hpp"

namespace ddprun {

namespace fs = std::filesystem;

namespace {

/// So long as another node's list may not be seen here.
constexpr std::chrono::milliseconds kLookAgainAfter{100};
constexpr int kLooksMax = 600;

Error disk_error(const std::string& what, const fs::path& path, const std::string& why) {
  return {Error::Kind::kUnavailable, "cannot " + what + " '" + path.string() + "': " + why};
}

/// What was written or renamed in the folder is on disk behind this.
Result<void> sync_folder(const fs::path& folder) {
  const Descriptor open{::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (!open.is_open() || ::fsync(open.number()) != 0)
    return disk_error("write", folder, std::strerror(errno));
  return {};
}

/// nullopt: there is none, or it has not reached the disk as a whole. One that cannot be read may
/// be there again later, and counts: so it must not be passed over.
Result<std::optional<Snapshot>> read_list(const fs::path& file) {
  const auto text = read_text(file, kFileListBytesMax);
  if (!text && text.error().kind == Error::Kind::kDenied)
    return disk_error("read", file, text.error().message);
  auto list = text ? read_snapshot(*text) : text.error();
  return list ? std::optional{std::move(*list)} : std::nullopt;
}

bool looks_same(const FileFacts& now, const FileFacts& then) {
  return now.bytes == then.bytes && now.modified_ns == then.modified_ns;
}

/// Whether the disk has the file like this already, and nobody has touched it there since. It has
/// another inode there.
bool has_file(const fs::path& folder, const Snapshot& there, const KeptFile& file) {
  const KeptFile* const old = find_file(there, file.facts.path);
  if (old == nullptr || old->facts.kind != file.facts.kind || file.digest.empty() ||
      old->digest != file.digest)
    return false;
  const auto now = facts_of(folder, file.facts.path);
  return now && now->kind == old->facts.kind && looks_same(*now, old->facts);
}

/// What is there; nullopt: nothing, or a link leads there, and so it is another file.
std::optional<FileFacts::Kind> kind_within(const fs::path& folder, const std::string& path) {
  std::error_code failed;
  for (const std::string& above : folders_above(path))
    if (!fs::is_directory(fs::symlink_status(folder / above, failed))) return std::nullopt;
  const auto facts = facts_of(folder, path);
  return facts ? std::optional{facts->kind} : std::nullopt;
}

/// The list is on disk behind this.
Result<void> write_list(const fs::path& file, const Snapshot& snapshot) {
  if (auto written = write_whole(file, to_text(snapshot)); !written) return written;
  const Descriptor open{::open(file.c_str(), O_RDONLY | O_CLOEXEC)};
  if (!open.is_open() || ::fsync(open.number()) != 0)
    return disk_error("write", file, std::strerror(errno));
  return {};
}

fs::path fresh_file(const fs::path& own, std::size_t place) {
  return own / "new" / std::to_string(place);
}

/// A node that changes a folder sees at once what others have changed there: else an NFS client may
/// remember for a minute what was there.
void look_again(const fs::path& folder) {
  const std::string name = folder / ("look-" + std::to_string(::getpid()));
  const Descriptor made{::open(name.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600)};
  ::unlink(name.c_str());
}

}  // namespace

DiskTier::DiskTier(fs::path folder) : folder_{std::move(folder)}, own_{folder_ / kOwnFolder} {}

Result<Snapshot> DiskTier::open() {
  std::error_code failed;
  fs::create_directories(folder_, failed);
  if (failed) return disk_error("make", folder_, failed.message());
  auto list = read_list(own_ / "files.json");
  if (!list) return list.error();
  if (*list) there_ = std::move(**list);
  remove_fresh(folder_);
  if (const auto moved = move_pending(); !moved) return moved.error();
  if (const auto taken = take_newer_parts(); !taken) return taken.error();
  for (const char* const name : {"new", "parts"}) fs::remove_all(own_ / name, failed);
  auto listed = list_folder(folder_);
  if (!listed) return listed.error();
  Snapshot found{.number = there_.number, .taken_unix_ms = there_.taken_unix_ms};
  for (FileFacts& facts : *listed) {
    if (is_left_out(facts)) continue;
    const KeptFile* const known = find_file(there_, facts.path);
    const bool same = known != nullptr && looks_same(facts, known->facts);
    KeptFile& file = found.files.emplace_back();
    if (same) file = *known;
    file.facts = std::move(facts);
  }
  if (there_.number == 0)  // nobody has taken it: it is as old as its newest file
    for (const KeptFile& file : found.files)
      found.taken_unix_ms = std::max(found.taken_unix_ms, file.facts.modified_ns / 1'000'000);
  there_ = found;
  return found;
}

Result<void> DiskTier::write_files(const Snapshot& snapshot, const fs::path& from,
                                   const fs::path& also_from, const fs::path& to,
                                   Pace& pace) const {
  std::error_code failed;
  fs::remove_all(to, failed);
  fs::create_directories(to, failed);
  if (failed) return disk_error("make", to, failed.message());
  for (std::size_t at = 0; at < snapshot.files.size(); ++at) {
    const KeptFile& file = snapshot.files[at];
    const bool has_bytes = file.facts.kind == FileFacts::Kind::kFile && !file.facts.on_disk;
    if (!has_bytes || has_file(folder_, there_, file)) continue;
    const fs::path kept = from / file.facts.path;
    const fs::path& source = fs::exists(kept, failed) ? kept : also_from / file.facts.path;
    const fs::path fresh = to / std::to_string(at);
    const auto digest = copy_file(source, fresh, pace, true);
    if (!digest) return digest.error();
    if (*digest != file.digest)
      return invalid("'" + source.string() + "' has other bytes than were saved");
    give_facts(fresh, file.facts);
  }
  return sync_folder(to);
}

Result<Snapshot> DiskTier::write(const Snapshot& snapshot, const fs::path& from,
                                 const fs::path& also_from, Pace& pace) {
  if (const auto moved = move_pending(); !moved) return moved.error();
  auto written = write_files(snapshot, from, also_from, own_ / "new", pace);
  if (written) written = write_list(own_ / "new.json", snapshot);
  if (written) written = sync_folder(own_);
  if (written) written = move_to_places(snapshot);
  if (written) return there_;
  std::error_code failed;
  if (!fs::exists(own_ / "new.json", failed)) fs::remove_all(own_ / "new", failed);
  return written.error();
}

// --- parts of several nodes ---

fs::path DiskTier::part_list(int part) const {
  return own_ / "parts" / (std::to_string(part) + ".json");
}

Result<Snapshot> DiskTier::read(int number) {
  std::error_code failed;
  fs::create_directories(own_, failed);
  if (failed) return disk_error("make", own_, failed.message());
  for (int tries = 0;; ++tries) {
    look_again(own_);
    auto list = read_list(own_ / "files.json");
    if (!list) return list.error();
    const int found = *list ? (*list)->number : 0;
    if (found >= number) {
      there_ = list->value_or(Snapshot{});
      return there_;
    }
    if (tries == kLooksMax)
      return disk_error("read", own_ / "files.json",
                        "checkpoint " + std::to_string(number) + " is not there, but " +
                            std::to_string(found) + ": is it the same folder on all nodes?");
    std::this_thread::sleep_for(kLookAgainAfter);
  }
}

Result<void> DiskTier::stage(const Snapshot& part, const fs::path& from, const fs::path& also_from,
                             Pace& pace) {
  const fs::path place = own_ / "parts" / std::to_string(part.part);
  std::error_code failed;
  fs::remove(part_list(part.part), failed);
  auto staged = write_files(part, from, also_from, place, pace);
  if (staged) staged = write_list(part_list(part.part), part);
  if (staged) staged = sync_folder(own_ / "parts");
  if (!staged) fs::remove_all(place, failed);
  return staged;
}

/// Parts that are all of one snapshot, and all that it has; else none.
std::vector<Snapshot> DiskTier::staged_parts() const {
  std::vector<Snapshot> parts;
  for (int part = 0; parts.empty() || part < parts[0].parts; ++part) {
    auto list = read_list(part_list(part));
    const bool fits =
        list && *list && (*list)->part == part && (*list)->parts > part &&
        (parts.empty() || ((*list)->number == parts[0].number && (*list)->parts == parts[0].parts &&
                           (*list)->taken_unix_ms == parts[0].taken_unix_ms));
    if (!fits) return {};
    parts.push_back(std::move(**list));
  }
  return parts;
}

/// Brings a file of the whole to its place in new/. A kill may have left it there the last time,
/// and other files of another write.
Result<void> DiskTier::take_staged(const MergedFile& file, std::size_t at) const {
  const fs::path staged = own_ / "parts" / std::to_string(file.part) / std::to_string(file.place);
  const fs::path fresh = fresh_file(own_, at);
  const FileFacts& facts = file.file.facts;
  std::error_code failed;
  if (fs::exists(staged, failed)) {
    fs::rename(staged, fresh, failed);
    return failed ? disk_error("write", fresh, failed.message()) : Result<void>{};
  }
  const bool has_bytes = facts.kind == FileFacts::Kind::kFile && !facts.on_disk;
  if (!has_bytes || has_file(folder_, there_, file.file)) {
    fs::remove(fresh, failed);
    return {};
  }
  Pace pace;
  pace.hurry(true);
  const auto digest = digest_of(fresh, pace);
  if (digest && *digest == file.file.digest) return {};
  return disk_error("read", staged, "the part of '" + facts.path + "' is gone");
}

/// A kill in the midst of it leaves no list of new files, and so the former snapshot, and the
/// parts.
Result<void> DiskTier::take_parts(const std::vector<Snapshot>& parts) {
  const Merged merged = merge_parts(parts);
  std::error_code failed;
  fs::create_directories(own_ / "new", failed);
  if (failed) return disk_error("make", own_ / "new", failed.message());
  for (std::size_t at = 0; at < merged.files.size(); ++at)
    if (const auto staged = take_staged(merged.files[at], at); !staged) return staged;
  auto taken = sync_folder(own_ / "new");
  if (taken) taken = write_list(own_ / "new.json", merged.snapshot);
  if (taken) taken = sync_folder(own_);
  return taken ? move_to_places(merged.snapshot) : taken;
}

/// Parts of which the nodes were all killed before they were moved, too.
Result<void> DiskTier::take_newer_parts() {
  const auto staged = staged_parts();
  if (staged.empty() || staged[0].number <= there_.number) return {};
  return take_parts(staged);
}

/// All nodes have to find the same list, of files that others have put there, too.
Result<Snapshot> DiskTier::see() {
  auto found = open();
  if (!found) return found;
  std::error_code failed;
  fs::create_directories(own_, failed);
  const auto told = write_list(own_ / "files.json", *found);
  return told ? found : told.error();
}

Result<Snapshot> DiskTier::move(int number, int parts) {
  if (const auto moved = move_pending(); !moved) return moved.error();
  look_again(own_);
  auto list = read_list(own_ / "files.json");
  if (!list) return list.error();
  if (*list && (*list)->number > there_.number) there_ = std::move(**list);
  look_again(own_ / "parts");
  const auto staged = staged_parts();
  const bool all_there = !staged.empty() && staged[0].number == number && staged[0].parts == parts;
  if (!all_there && there_.number < number)
    return disk_error("read", own_ / "parts",
                      "the parts of all nodes are not there: is it the same folder on all nodes?");
  if (there_.number < number)
    if (const auto taken = take_parts(staged); !taken) return taken.error();
  std::error_code failed;
  fs::remove_all(own_ / "parts", failed);
  return there_;
}

/// Files could not be moved the last time, or not all of them.
Result<void> DiskTier::move_pending() {
  const auto pending = read_list(own_ / "new.json");
  if (!pending) return pending.error();
  return *pending ? move_to_places(**pending) : Result<void>{};
}

Result<void> DiskTier::move_to_places(const Snapshot& fresh) {
  std::error_code failed;
  for (auto old = there_.files.rbegin(); old != there_.files.rend(); ++old) {
    const KeptFile* const now = find_file(fresh, old->facts.path);
    if (now != nullptr && now->facts.kind == old->facts.kind) continue;
    // When a later start goes on with it, the new one may be there already.
    const auto is = kind_within(folder_, old->facts.path);
    const bool goes = is && (now == nullptr || *is != now->facts.kind);
    if (goes) fs::remove(folder_ / old->facts.path, failed);  // a folder with a log in it stays
  }
  Snapshot there = fresh;
  for (std::size_t at = 0; at < there.files.size(); ++at) {
    const FileFacts& facts = there.files[at].facts;
    if (facts.kind == FileFacts::Kind::kFolder) {
      if (const auto made = make_folder(folder_ / facts.path); !made) return made.error();
    } else if (facts.kind == FileFacts::Kind::kLink) {
      const auto made = place_link(facts.target, folder_ / facts.path);
      if (!made) return made.error();
    } else if (const fs::path file = fresh_file(own_, at); fs::exists(file, failed)) {
      fs::rename(file, folder_ / facts.path, failed);
      if (failed) return disk_error("write", folder_ / facts.path, failed.message());
    }
  }
  for (auto file = there.files.rbegin(); file != there.files.rend(); ++file) {
    if (file->facts.kind == FileFacts::Kind::kFolder) {
      give_facts(folder_ / file->facts.path, file->facts);
      sync_folder(folder_ / file->facts.path);
    }
    if (auto facts = facts_of(folder_, file->facts.path)) file->facts = std::move(*facts);
  }
  if (const auto synced = sync_folder(folder_); !synced) return synced.error();
  if (const auto told = write_list(own_ / "files.json", there); !told) return told.error();
  // While that list is there, nothing else may come to its place in new/.
  if (!fs::remove(own_ / "new.json", failed) && failed)
    return disk_error("remove", own_ / "new.json", failed.message());
  fs::remove_all(own_ / "new", failed);
  there_ = std::move(there);
  return sync_folder(own_);
}

void DiskTier::write_logs(const fs::path& from, Pace& pace) const {
  const auto listed = list_folder(from);
  if (!listed) return;
  std::error_code failed;
  for (const FileFacts& facts : *listed) {
    if (!is_log(facts.path) || facts.kind != FileFacts::Kind::kFile) continue;
    const auto there = facts_of(folder_, facts.path);
    if (there && looks_same(facts, *there)) continue;
    fs::create_directories((folder_ / facts.path).parent_path(), failed);
    // It may grow meanwhile: then the rest comes the next time, as does one that is gone now.
    const auto placed = place_copy(from / facts.path, folder_ / facts.path, {.facts = facts}, pace);
    if (!placed && placed.error().kind == Error::Kind::kTimeout) return;
  }
}

void DiskTier::forget_list() {
  std::error_code ignored;
  fs::remove_all(own_, ignored);
  there_ = {};
}

}  // namespace ddprun
