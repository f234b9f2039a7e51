// MemoryTier: the folder in memory that a program writes its checkpoints to, and snapshots of it.
//
//     /dev/shm/ddprun-checkpoints-UID/NAME/    0700; NAME stands for the folder on disk
//         lock                                 held by the job that uses it
//         out/                                 the program's folder
//         kept/7/, kept/7.json                 snapshot 7: its files, as links or copies, and their
//                                              list
//         kept/7-0of2/ ...                     a part of it: this node's, or a copy of another
//         one's
//
// It outlives its job: what a job that was killed had not yet written to disk is there for the next
// one. All functions block, and one thread calls them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "agent/checkpoints/checkpoint_spec.hpp"
#include "agent/checkpoints/folder_files.hpp"
#include "agent/checkpoints/pace.hpp"
#include "agent/checkpoints/snapshot.hpp"
#include "base/descriptor.hpp"
#include "base/result.hpp"

namespace ddprun {

/// What a folder that was put back is like now.
struct PutBackResult {
  Snapshot snapshot;                    // with the facts of the files as they are now
  std::vector<std::string> complaints;  // sentences: which copies had wrong bytes
  std::int64_t bytes_from_disk = 0;
  std::int64_t bytes_cut_off = 0;  // in the folder before, of a save that did not end
};

class MemoryTier {
 public:
  /// `root` is /dev/shm but for tests. Makes the folder in memory, or takes over one that an
  /// earlier job has left. Its name is the same on all nodes that share the folder on disk: they
  /// may share the program's folder too, which is a link to it. Errors: kDenied where another job
  /// uses it, or somebody else owns it; kUnavailable.
  static Result<MemoryTier> open(const std::filesystem::path& root, const CheckpointSpec& spec);

  const std::filesystem::path& folder() const { return folder_; }

  /// The snapshots that are there, the oldest first.
  std::vector<Snapshot> snapshots() const;

  /// Where the bytes of a snapshot's files are.
  std::filesystem::path files_of(const Snapshot& snapshot) const;

  /// Keeps the folder as it is, which has to be as in `state`. `header`: a snapshot without files,
  /// with the number and place of this one. nullopt: the folder changed meanwhile.
  Result<std::optional<Snapshot>> take(const FolderState& state, const Snapshot& previous,
                                       Snapshot header, Pace& pace) const;

  /// Makes the folder as that snapshot has it, of files in the folder that are as they were, else
  /// of those that were kept, else of those on disk, each with the right digest. Files that have
  /// not changed since before `trusted_since` are not read. Errors: kInvalid where all copies of a
  /// file are gone or damaged: then an older snapshot can be put back.
  Result<PutBackResult> put_back(const Snapshot& snapshot, int trusted_since, Pace& pace) const;

  /// Writes the list of a snapshot that is kept again, as it is now.
  Result<void> list_again(const Snapshot& snapshot) const;

  /// Takes these files out of the program's folder, as another node's workers have removed them.
  /// What this node's own have changed meanwhile stays.
  void remove_files(const std::vector<KeptFile>& files) const;

  /// Keeps a snapshot of other nodes: files that have the same bytes as one of those that are
  /// `kept` are links to it, and `get` writes each of the others to a new file; several threads
  /// call it. Errors: kUnavailable, and those of `get`: then nothing is kept.
  using GetFile =
      std::function<Result<void>(const KeptFile& file, const std::filesystem::path& to)>;
  Result<void> gather(const Snapshot& snapshot, const std::vector<Snapshot>& kept,
                      const GetFile& get) const;

  /// Puts links to these files on disk in their places, and forgets their bytes: they are on disk
  /// as `snapshots`, all that are kept, have them.
  void leave_on_disk(const std::vector<std::string>& paths, std::vector<Snapshot>& snapshots) const;

  /// The snapshot is not needed any more.
  void forget(const Snapshot& snapshot) const;

  /// Nothing of it stays in memory.
  void remove() const;

  /// How many bytes can still be written there.
  std::int64_t free_bytes() const;

 private:
  MemoryTier(std::filesystem::path root, std::filesystem::path disk, Descriptor lock);

  std::filesystem::path list_of(const Snapshot& snapshot) const;
  Result<KeptFile> keep(const FileToKeep& file, const Snapshot& previous, const Snapshot& header,
                        Pace& pace) const;
  /// What came of a file that is put back.
  struct Placed {
    Result<std::string> digest = std::string{};
    std::vector<std::string> complaints = {};
    std::int64_t bytes_from_disk = 0;
  };
  enum class Stays { kYes, kChanged, kGone, kGivenUp };

  Stays check(const KeptFile& file, int trusted_since, Pace& pace) const;
  Placed place(const KeptFile& file, const Snapshot& snapshot, Pace& pace) const;

  std::filesystem::path root_;  // this job's
  std::filesystem::path folder_;
  std::filesystem::path disk_;
  Descriptor lock_;
};

}  // namespace ddprun
