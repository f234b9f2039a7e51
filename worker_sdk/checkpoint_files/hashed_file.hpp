// A file that is written and hashed at the same time, and the directory entries that make it last.
// No LibTorch.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "ddprun/checkpoint_writing.hpp"
#include "worker_sdk/checkpoint_files/checkpoint_manifest.hpp"

namespace ddprun::sdk {

/// Bytes somewhere in memory, which come one after the other in the file.
using Pieces = std::vector<std::span<const std::byte>>;

/// Told before and after every step that changes the disk, with the step's name ("before fsync
/// model.safetensors"), by one thread at a time. Tests kill the process there; else it is empty.
using StageHook = std::function<void(const std::string& stage)>;

/// Makes `path`, which must not be there, out of `pieces`; a second thread hashes them meanwhile.
/// Errors: std::runtime_error, naming the file and the system's reason (a full disk, for one).
CheckpointFile write_hashed_file(const std::filesystem::path& path, const Pieces& pieces,
                                 Durability durability, const StageHook& hook = {});

/// SHA-256 of the file's bytes. Errors: std::runtime_error, naming the file.
std::string sha256_of_file(const std::filesystem::path& path);

/// fsync of a folder: the names in it survive a power failure. Errors: std::runtime_error.
void sync_folder(const std::filesystem::path& folder);

/// Throws std::runtime_error "cannot ACTION 'PATH': REASON", the reason being errno's.
[[noreturn]] void fail_with_errno(const std::string& action, const std::filesystem::path& path);

}  // namespace ddprun::sdk
