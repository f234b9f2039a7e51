#include "agent/checkpoints/disk_tier.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "base/clock.hpp"
#include "base/descriptor.hpp"
#include "base/system/whole_file.hpp"

namespace ddprun {

namespace fs = std::filesystem;

namespace {

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
  for (std::size_t at = path.find('/'); at != std::string::npos; at = path.find('/', at + 1))
    if (!fs::is_directory(fs::symlink_status(folder / path.substr(0, at), failed)))
      return std::nullopt;
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
  fs::remove_all(own_ / "new", failed);
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
                                   const fs::path& also_from, Pace& pace) const {
  std::error_code failed;
  fs::remove_all(own_ / "new", failed);
  fs::create_directories(own_ / "new", failed);
  if (failed) return disk_error("make", own_ / "new", failed.message());
  for (std::size_t at = 0; at < snapshot.files.size(); ++at) {
    const KeptFile& file = snapshot.files[at];
    const bool has_bytes = file.facts.kind == FileFacts::Kind::kFile && !file.facts.on_disk;
    if (!has_bytes || has_file(folder_, there_, file)) continue;
    const fs::path kept = from / file.facts.path;
    const fs::path& source = fs::exists(kept, failed) ? kept : also_from / file.facts.path;
    const auto digest = copy_file(source, fresh_file(own_, at), pace, true);
    if (!digest) return digest.error();
    if (*digest != file.digest)
      return invalid("'" + source.string() + "' has other bytes than were saved");
    give_facts(fresh_file(own_, at), file.facts);
  }
  return sync_folder(own_ / "new");
}

Result<Snapshot> DiskTier::write(const Snapshot& snapshot, const fs::path& from,
                                 const fs::path& also_from, Pace& pace) {
  if (const auto moved = move_pending(); !moved) return moved.error();
  auto written = write_files(snapshot, from, also_from, pace);
  if (written) written = write_list(own_ / "new.json", snapshot);
  if (written) written = sync_folder(own_);
  if (written) written = move_to_places(snapshot);
  if (written) return there_;
  std::error_code failed;
  if (!fs::exists(own_ / "new.json", failed)) fs::remove_all(own_ / "new", failed);
  return written.error();
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
