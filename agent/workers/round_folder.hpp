// The folder of a round: its workers' logs go there, and the files in which workers record the
// exceptions that end them.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "agent/output/log_writer.hpp"
#include "agent/workers/worker_plan.hpp"

namespace ddprun {

/// The exception that a worker records before it ends, in the JSON format of
/// torch.distributed.elastic.multiprocessing.errors
/// (https://docs.pytorch.org/docs/stable/elastic/errors.html).
struct RecordedError {
  std::string message;    // "ValueError: no such batch"
  std::string traceback;  // several lines, "" when there is none
};

/// Understands both forms: "message" as an object with extraInfo, and as plain text. nullopt for
/// anything else: what a dying worker wrote may be incomplete. Pure.
std::optional<RecordedError> parse_recorded_error(const std::string& text);

/// A longer record is not read.
inline constexpr std::size_t kErrorFileBytesMax = 1024 * 1024;

/// Reads the file. nullopt when it is not there, is no regular file, is empty, or does not parse. A
/// record that is too long to be read is an error whose message says so.
std::optional<RecordedError> read_error_file(const std::filesystem::path& path);

/// Removes what another worker has left under this name, so that it is not taken for the record of
/// one that starts now.
void remove_error_file(const std::filesystem::path& path);

/// Makes the folder of a round, if there is a run directory. If a directory cannot be made, opening
/// a file in it says so. Rounds of a coordinator that was started again have the numbers of earlier
/// ones, so a worker's error file may be there already: it is removed. `files` does that; null: it
/// is done here.
void make_round_folder(const std::shared_ptr<LogWriter>& files, const NodeFacts& node,
                       const StartRound& round, int workers);

}  // namespace ddprun
