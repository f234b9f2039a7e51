// `ddprun checkpoint ls DIR` and `ddprun checkpoint verify DIR`: what the worker SDK's checkpoints
// in a folder are, and whether they are still what was written.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "launcher/run/stage.hpp"
#include "worker_sdk/checkpoint_files/checkpoint_folder.hpp"

namespace ddprun {

/// Step, epoch, world size, age, size and state of each, with a heading. Pure.
std::string checkpoint_table(const std::vector<sdk::CheckpointEntry>& entries,
                             std::int64_t now_unix_ms);

/// Returns 0; `verify` 1 when a checkpoint is not complete, or there is none; both 1 when the
/// folder cannot be read. Errors: kInvalid for words that make no sense.
Result<int> run_checkpoint(const std::vector<std::string>& words, const Stage& stage);

}  // namespace ddprun
