// What is in a folder of checkpoints, found out by reading alone. No LibTorch.
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

enum class CheckpointState {
  kComplete,
  kIncomplete,  // it was not written to its end, or a file of it is gone
  kDamaged,     // it is not what was written
};

/// "complete", "incomplete", "damaged".
const char* to_string(CheckpointState state);

struct CheckpointEntry {
  std::int64_t step = 0;
  std::filesystem::path path;  // of its folder
  CheckpointState state = CheckpointState::kComplete;
  std::string reason;                          // why it is not complete
  std::optional<CheckpointManifest> manifest;  // where it can be read
};

/// "checkpoint-000000000042"; longer where the step has more than 12 digits.
std::string checkpoint_name(std::int64_t step);

/// The step of a folder with that name; nullopt for other names.
std::optional<std::int64_t> parse_checkpoint_name(const std::string& name);

/// The name for writing it under, which no other process has: see CheckpointFence::token().
std::string unfinished_name(std::int64_t step, const std::string& token);

/// The step of a folder that is being written, or was left so; nullopt for other names.
std::optional<std::int64_t> parse_unfinished_name(const std::string& name);

/// Looks at the manifest and at the files' sizes, which takes microseconds.
CheckpointEntry inspect_checkpoint(const std::filesystem::path& path);

/// Hashes all of its files as well, which takes about a second a gigabyte.
CheckpointEntry verify_checkpoint(const std::filesystem::path& path);

/// All checkpoints of `folder`, newest first, inspected. Errors: std::filesystem::filesystem_error
/// when the folder cannot be read.
std::vector<CheckpointEntry> list_checkpoints(const std::filesystem::path& folder);

/// Those that are being written, or were left so.
std::vector<CheckpointEntry> list_unfinished(const std::filesystem::path& folder);

/// Which checkpoints outlive newer ones.
struct Retention {
  int keep = 3;                 // the newest so many, at least 1
  std::int64_t keep_every = 0;  // and all whose step is a multiple of it, for good; 0: none
};

/// Those of `newest_first` that may go: what is not complete goes with the first complete one that
/// goes, for it counts for nothing. Pure.
std::vector<CheckpointEntry> outdated(const std::vector<CheckpointEntry>& newest_first,
                                      const Retention& retention);

}  // namespace ddprun::sdk
