// Finds out what is in a folder of checkpoints, by reading alone. Needs no LibTorch.
//
//     DIR/checkpoint-000000000042/manifest.json      see checkpoint_manifest.hpp
//                                 model.safetensors  and the other files that the manifest names
//     DIR/.checkpoint-000000000043.TOKEN.tmp/        one that is being written, or was left so
//     DIR/.fence, DIR/.fence.lock                    see checkpoint_fence.hpp
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "worker_sdk/checkpoint_files/checkpoint_manifest.hpp"

namespace ddprun::sdk {

/// Whether a checkpoint can be loaded.
enum class CheckpointState {
  kComplete,    // it is what was written
  kIncomplete,  // it was not written to its end, or one of its files is gone
  kDamaged,     // its bytes are not those that were written
};

/// Returns "complete", "incomplete" or "damaged".
const char* to_string(CheckpointState state);

/// A checkpoint in a folder.
struct CheckpointEntry {
  std::int64_t step = 0;
  std::filesystem::path path;  // its folder's
  CheckpointState state = CheckpointState::kComplete;
  std::string reason;                          // why it is not complete
  std::optional<CheckpointManifest> manifest;  // not set when it cannot be read
};

/// Returns a name such as "checkpoint-000000000042", which is longer if the step has more than 12
/// digits.
std::string checkpoint_name(std::int64_t step);

/// Returns the step of a folder that checkpoint_name() has named; nullopt for other names.
std::optional<std::int64_t> parse_checkpoint_name(const std::string& name);

/// Returns the name that a checkpoint has while it is written. No other process uses it, because
/// `token` is CheckpointFence::token().
std::string unfinished_name(std::int64_t step, const std::string& token);

/// Returns the step of a folder that unfinished_name() has named; nullopt for other names.
std::optional<std::int64_t> parse_unfinished_name(const std::string& name);

/// Judges the checkpoint at `path` by its manifest and the sizes of its files, which takes
/// microseconds. The checkpoint may come from anywhere: files that are symbolic links, pipes or
/// devices are damage, and it costs no more memory than a few times kManifestBytesMax.
CheckpointEntry inspect_checkpoint(const std::filesystem::path& path);

/// Judges it by the hashes of its files as well, which takes about a second a gigabyte, and by the
/// headers of those whose names end with .safetensors.
CheckpointEntry verify_checkpoint(const std::filesystem::path& path);

/// Inspects all checkpoints of `folder` and returns them, newest first. Errors:
/// std::filesystem::filesystem_error when the folder cannot be read.
std::vector<CheckpointEntry> list_checkpoints(const std::filesystem::path& folder);

/// Returns the checkpoints of `folder` that are being written, or whose writer was killed, newest
/// first. Errors: std::filesystem::filesystem_error.
std::vector<CheckpointEntry> list_unfinished(const std::filesystem::path& folder);

/// Says which checkpoints outlive newer ones.
struct Retention {
  int keep = 3;                 // how many of the newest stay, at least 1
  std::int64_t keep_every = 0;  // those whose step is a multiple of it stay for good; 0: none do
};

/// Returns the checkpoints of `newest_first` that may go. Only complete ones count among those to
/// keep. An incomplete or damaged one goes when it is older than the last that is kept. Pure.
std::vector<CheckpointEntry> outdated(const std::vector<CheckpointEntry>& newest_first,
                                      const Retention& retention);

}  // namespace ddprun::sdk
