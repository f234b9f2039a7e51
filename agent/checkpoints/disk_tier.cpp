#include "agent/checkpoints/disk_tier.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>

#include "agent/checkpoints/put_back.hpp"
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

Result<Snapshot> read_list(const fs::path& file) {
  const auto text = read_text(file, kFileListBytesMax);
  if (!text) return text.error();
  return read_snapshot(*text);
}

/// Whether the disk has the file like this already. It has another inode there.
bool has_file(const Snapshot& there, const KeptFile& file) {
  const KeptFile* const old = find_file(there, file.facts.path);
  return old != nullptr && old->facts.kind == file.facts.kind && !file.digest.empty() &&
         old->digest == file.digest;
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
  if (auto list = read_list(own_ / "files.json")) there_ = std::move(*list);
  if (const auto fresh = read_list(own_ / "new.json"))
    if (const auto moved = move_to_places(*fresh); !moved) return moved.error();
  fs::remove_all(own_ / "new", failed);
  auto listed = list_folder(folder_);
  if (!listed) return listed.error();
  Snapshot found{.number = there_.number, .taken_unix_ms = there_.taken_unix_ms};
  for (FileFacts& facts : *listed) {
    if (is_left_out(facts)) continue;
    const KeptFile* const known = find_file(there_, facts.path);
    const bool same = known != nullptr && known->facts.bytes == facts.bytes &&
                      known->facts.modified_ns == facts.modified_ns;
    KeptFile& file = found.files.emplace_back();
    if (same) file = *known;
    file.facts = std::move(facts);
  }
  if (there_.number == 0 && !found.files.empty()) found.taken_unix_ms = unix_time_ms();
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
    if (file.facts.kind != FileFacts::Kind::kFile || has_file(there_, file)) continue;
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
  // Files could not be moved the last time.
  if (const auto pending = read_list(own_ / "new.json"))
    if (const auto moved = move_to_places(*pending); !moved) return moved.error();
  auto written = write_files(snapshot, from, also_from, pace);
  if (written) written = write_whole(own_ / "new.json", to_text(snapshot));
  if (written) written = sync_folder(own_);
  if (written) written = move_to_places(snapshot);
  if (written) return there_;
  std::error_code failed;
  if (!fs::exists(own_ / "new.json", failed)) fs::remove_all(own_ / "new", failed);
  return written.error();
}

Result<void> DiskTier::move_to_places(const Snapshot& fresh) {
  std::error_code failed;
  for (auto old = there_.files.rbegin(); old != there_.files.rend(); ++old) {
    const KeptFile* const now = find_file(fresh, old->facts.path);
    const bool stays = now != nullptr && now->facts.kind == old->facts.kind;
    if (!stays) fs::remove(folder_ / old->facts.path, failed);  // one with a log in it stays
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
  if (const auto told = write_whole(own_ / "files.json", to_text(there)); !told)
    return told.error();
  fs::remove(own_ / "new.json", failed);
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
    if (there && there->bytes == facts.bytes && there->modified_ns == facts.modified_ns) continue;
    fs::create_directories((folder_ / facts.path).parent_path(), failed);
    // It may grow meanwhile: then the rest comes the next time.
    if (!place_copy(from / facts.path, folder_ / facts.path, {.facts = facts}, pace)) return;
  }
}

void DiskTier::forget_list() {
  std::error_code ignored;
  fs::remove_all(own_, ignored);
  there_ = {};
}

}  // namespace ddprun
