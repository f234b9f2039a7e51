// The records of good runs in a folder of logs: one for each script, in a file whose name begins
// with a point, so that a listing of the folder shows only the folders of runs.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "launcher/record/run_record.hpp"

namespace ddprun {

/// A folder keeps this many; the oldest ones go.
inline constexpr std::size_t kRecordsMax = 64;

/// ".last-good-run.train.py.1a2b3c4d.json": the script's name, and what is made of its path.
std::string record_file_name(const RecordedScript& script);

/// Returns what the last good run of the script has left; nullopt: nothing. Errors: kInvalid, with
/// the file and what is wrong with it.
Result<std::optional<RunRecord>> read_good_run(const std::filesystem::path& folder,
                                               const RecordedScript& script);

/// Keeps the record in place of that of an earlier run. No reader sees half of it. Errors:
/// kUnavailable, with a sentence.
Result<void> write_good_run(const std::filesystem::path& folder, const RunRecord& record);

}  // namespace ddprun
