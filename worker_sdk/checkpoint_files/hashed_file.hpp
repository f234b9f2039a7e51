// Writes a file and hashes it at the same time, and makes files and their names durable. Needs no
// LibTorch.
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

/// Pieces of memory whose bytes come one after the other in the file.
using Pieces = std::vector<std::span<const std::byte>>;

/// Called before and after every step that changes the disk, with the step's name ("before fsync of
/// model.safetensors"). Tests kill the process there; in programs it is empty.
using StageHook = std::function<void(const std::string& stage)>;

/// Writes `pieces` into the new file `path` while a second thread hashes them, and returns its
/// name, size and SHA-256. Errors: std::runtime_error when the file is there already or cannot be
/// written, naming the file and the system's reason (a full disk, for one).
CheckpointFile write_hashed_file(const std::filesystem::path& path, const Pieces& pieces,
                                 Durability durability, const StageHook& hook = {});

/// Returns the SHA-256 of the file's bytes, in 64 hexadecimal digits. The file is read as InputFile
/// does. Errors: std::runtime_error, naming the file.
std::string sha256_of_file(const std::filesystem::path& path);

/// Makes the names in a folder durable (fsync(2)): they survive a power failure when it returns.
/// Errors: std::runtime_error, naming the folder.
void sync_folder(const std::filesystem::path& folder);

/// Throws std::runtime_error "cannot ACTION 'PATH': REASON". The reason is that of errno.
[[noreturn]] void fail_with_errno(const std::string& action, const std::filesystem::path& path);

}  // namespace ddprun::sdk
