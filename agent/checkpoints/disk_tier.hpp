// DiskTier: the folder on disk that the snapshots of a program's checkpoints are written to, one in
// the place of the other. It looks as the program's own folder would.
//
// A snapshot is there as a whole or not at all, whenever the machine stops. Files that have changed
// are written to .ddprun/new/ first, by their place in the list; once new.json, the list, is on
// disk, the snapshot counts; then they are moved to their places. A later start goes on with that.
//
//     .ddprun/files.json   the list of the snapshot that is there, with digests
//     .ddprun/new.json     the list of the one that is being moved to its place
//     .ddprun/new/0 ...    its files
//
// Where several nodes share the folder, each writes its part beside what is there, and one of them
// makes a snapshot of all of them:
//
//     .ddprun/parts/1.json, .ddprun/parts/1/0 ...    the list of part 1, and its files
//
// All functions block, also for ever: the folder may be one of a server that is gone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "agent/checkpoints/checkpoint_parts.hpp"
#include "agent/checkpoints/folder_files.hpp"
#include "agent/checkpoints/pace.hpp"
#include "agent/checkpoints/snapshot.hpp"
#include "base/result.hpp"

namespace ddprun {

class DiskTier {
 public:
  explicit DiskTier(std::filesystem::path folder);

  const std::filesystem::path& folder() const { return folder_; }
  /// What is there, as far as this process has seen it.
  const Snapshot& there() const { return there_; }

  /// Makes the folder, and ends what an earlier job has begun. Returns what is there: files without
  /// a digest are not from a snapshot, or have been changed since. Errors: kUnavailable.
  Result<Snapshot> open();

  /// What another node has written, of that number or a later one. Nothing is changed there.
  /// Errors: kUnavailable.
  Result<Snapshot> read(int number);

  /// Writes this node's part of a snapshot beside what is there. Errors: as those of write().
  Result<void> stage(const Snapshot& part, const std::filesystem::path& from,
                     const std::filesystem::path& also_from, Pace& pace);

  /// As open(), and writes the list of it for other nodes.
  Result<Snapshot> see();

  /// Makes one snapshot of that many parts, which all nodes have staged, and returns it; or the one
  /// there, if another node has written a newer one. Only one node may do this at a time. Errors:
  /// as those of write(), and kUnavailable where a part is not there.
  Result<Snapshot> move(int number, int parts);

  /// Writes the snapshot, of which the files are in `from`; those that are not are in `also_from`.
  /// Returns it with the facts of the files as they are on disk. Errors: kUnavailable, as where the
  /// disk is full: the former snapshot stays; kInvalid where a file has other bytes than were
  /// saved; kTimeout: the work is to end.
  Result<Snapshot> write(const Snapshot& snapshot, const std::filesystem::path& from,
                         const std::filesystem::path& also_from, Pace& pace);

  /// Copies logs as they are now.
  void write_logs(const std::filesystem::path& from, Pace& pace) const;

  /// The program writes there by itself from now on, so that no list holds any more.
  void forget_list();

 private:
  Result<void> write_files(const Snapshot& snapshot, const std::filesystem::path& from,
                           const std::filesystem::path& also_from, const std::filesystem::path& to,
                           Pace& pace) const;
  std::filesystem::path part_list(int part) const;
  std::vector<Snapshot> staged_parts() const;
  Result<void> take_staged(const MergedFile& file, std::size_t at) const;
  Result<void> take_parts(const std::vector<Snapshot>& parts);
  Result<void> take_newer_parts();
  Result<void> move_pending();
  Result<void> move_to_places(const Snapshot& fresh);

  std::filesystem::path folder_;
  std::filesystem::path own_;  // .ddprun in it
  Snapshot there_;             // with the facts of the files as they are there
};

}  // namespace ddprun
