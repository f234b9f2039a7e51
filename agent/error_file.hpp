// The JSON file in which a worker records the exception that ends it. The format is that of
// torch.distributed.elastic.multiprocessing.errors
// (https://docs.pytorch.org/docs/stable/elastic/errors.html).
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace ddprun {

struct RecordedError {
  std::string message;    // "ValueError: no such batch"
  std::string traceback;  // several lines, "" when there is none
};

/// Understands both forms: "message" as an object with extraInfo, and as plain text. nullopt for
/// anything else: what a dying worker wrote may be incomplete.
std::optional<RecordedError> parse_error_file(const std::string& text);

/// nullopt when the file is not there, is empty, or does not parse.
std::optional<RecordedError> read_error_file(const std::filesystem::path& path);

}  // namespace ddprun
