// The commands that show what jobs have left in files: checkpoints, reports and event logs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "launcher/run/command_context.hpp"
#include "worker_sdk/checkpoint_files/checkpoint_folder.hpp"

namespace ddprun {

// `ddprun checkpoint ls DIR` shows what the worker SDK's checkpoints in a folder are, and `ddprun
// checkpoint verify DIR` whether they are still what was written.

/// Returns a table of step, epoch, world size, age, size and state of each, with a heading. Pure.
std::string checkpoint_table(const std::vector<sdk::CheckpointEntry>& entries,
                             std::int64_t now_unix_ms);

/// Carries out the command. Returns 0, or 1 when the folder cannot be read; `verify` also returns 1
/// when a checkpoint is not complete, or there is none. Errors: kInvalid for words that make no
/// sense.
Result<int> run_checkpoint(const std::vector<std::string>& words, const CommandContext& context);

/// Carries out `ddprun explain FILE`, which prints the report of --report-file for people. Returns
/// 0, or 1 when the file cannot be read or is no report. Errors: kInvalid for words that make no
/// sense.
Result<int> run_explain(const std::vector<std::string>& words, const CommandContext& context);

/// Carries out `ddprun trace FILE... -o trace.json`, which makes a trace for Perfetto of what
/// --event-log has written. Returns 0, or 1 when a file cannot be read or written, or has no
/// events. Errors: kInvalid for words that make no sense.
Result<int> run_trace(const std::vector<std::string>& words, const CommandContext& context);

}  // namespace ddprun
