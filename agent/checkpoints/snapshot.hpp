// Snapshot: what was in the folder of a program's checkpoints at a moment at which nobody saved.
// So nothing in it is of two saves, whatever the program calls its files. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace ddprun {

/// What stat(2) tells of something in the folder.
struct FileFacts {
  enum class Kind { kFile, kFolder, kLink };
  std::string path;  // from the folder on, "checkpoint-500/model.safetensors"
  Kind kind = Kind::kFile;
  std::int64_t bytes = 0;
  std::int64_t modified_ns = 0;  // since 1970
  std::int64_t inode = 0;
  int mode = 0;          // permissions, as chmod(2) has them
  std::string target;    // a link's
  bool on_disk = false;  // a file that is in the folder on disk alone, and a link to it here
  bool operator==(const FileFacts&) const = default;
};

/// All that is in the folder, by path.
using FolderState = std::vector<FileFacts>;

/// A file as a snapshot has it.
struct KeptFile {
  FileFacts facts;  // as they were in the folder
  std::string
      digest;     // XXH3-128 (https://xxhash.com) of its bytes; "": it is no file, or not known
  int since = 0;  // the number of the snapshot that had it like this first
  bool copied = false;  // a copy is kept, for the program writes to such files again
};

struct Snapshot {
  int number = 0;  // grows with each one of a job, and of those that follow it
  std::int64_t taken_unix_ms = 0;
  std::vector<KeptFile> files;  // by path; those of logs are not in it
  // Where several nodes keep their checkpoints together; see rendezvous/rounds/job_checkpoints.hpp:
  int part = 0;         // which part of the checkpoint this is
  int parts = 0;        // how many there are; 0: this is no part, but the whole
  int base = 0;         // the number of the one that the round began with
  bool counts = false;  // all nodes have theirs
  bool copy = false;    // it is another node's, in case that this one is lost
};

/// What comes of a file when a snapshot is taken.
struct FileToKeep {
  enum class How { kAsBefore, kLink, kCopy };
  FileFacts facts;
  How how = How::kCopy;
};

/// Whether it is that part of the checkpoint with that number.
bool is_part(const Snapshot& snapshot, int number, int part, int parts);

/// nullptr: there is no such path.
const KeptFile* find_file(const Snapshot& snapshot, std::string_view path);

/// The folders that a file is in, from below.
std::vector<std::string> folders_above(const std::string& path);

/// The path with one '#' for each number in it.
std::string shape_of(std::string_view path);

/// Whether the file is a log, by its name: programs write to those all the time, so that they
/// belong to no checkpoint.
bool is_log(std::string_view path);

/// What ddprun has there for itself, on disk.
inline constexpr std::string_view kOwnFolder = ".ddprun";

/// Whether that belongs to no checkpoint: a log, or ddprun's own. A folder is no log by its name,
/// for other files may be in it; one of wandb has nothing else.
bool is_left_out(const FileFacts& facts);

/// Whether a name is that of a file or folder that is still being written, as libraries call them.
bool is_unfinished(std::string_view path);

/// Whether nothing but logs has changed since the snapshot was taken.
bool has_same_files(const FolderState& state, const Snapshot& snapshot);

/// A folder that the snapshot does not have, and that has fewer files of a kind than the newest one
/// of its own kind there, as checkpoint-600 without the rng_state_1.pth that checkpoint-500 has;
/// "": there is none.
std::string folder_with_less(const FolderState& state, const Snapshot& snapshot);

/// What a snapshot of that state would do with each file but logs. A link to a file's bytes costs
/// no memory, but has the bytes of the file for ever: so a file is linked only where the program
/// has shown that it takes another number for each save (checkpoint-500, checkpoint-600).
std::vector<FileToKeep> plan_snapshot(const FolderState& state, const Snapshot& previous);

/// The bytes of files that it has and the one before did not.
std::int64_t new_bytes(const Snapshot& snapshot);

/// What the user calls it: the entry of the folder that changed last, as "checkpoint-500".
std::string title_of(const Snapshot& snapshot);

/// The snapshot as JSON.
std::string to_text(const Snapshot& snapshot);
/// Errors: kInvalid, also for a path that leads out of the folder.
Result<Snapshot> read_snapshot(std::string_view text);

}  // namespace ddprun
