// The program's folder of checkpoints, as the user names it: a link to where they are. All
// functions block.
#pragma once

#include <filesystem>
#include <string>

#include "agent/checkpoints/checkpoint_spec.hpp"
#include "base/result.hpp"

namespace ddprun {

/// In /dev/shm, followed by the user's number.
inline constexpr char kMemoryFolders[] = "ddprun-checkpoints-";

/// Whether the folder can become such a link: it is not there, is empty, or is one already. Errors:
/// kInvalid, with what to do; kUnavailable.
Result<void> check_checkpoint_folder(const CheckpointSpec& spec);

/// Makes it a link to `target`; the folders above it are made. Errors: kUnavailable.
Result<void> point_folder_to(const CheckpointSpec& spec, const std::filesystem::path& target);

/// Whether it still is one, or what the program has made of it, as a sentence.
std::string what_became_of(const CheckpointSpec& spec, const std::filesystem::path& target);

}  // namespace ddprun
