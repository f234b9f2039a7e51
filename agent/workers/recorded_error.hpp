// The exception that a worker records before it ends, in the JSON format of
// torch.distributed.elastic.multiprocessing.errors
// (https://docs.pytorch.org/docs/stable/elastic/errors.html). Pure.
#pragma once

#include <optional>
#include <string>

namespace ddprun {

struct RecordedError {
  std::string message;    // "ValueError: no such batch"
  std::string traceback;  // several lines, "" when there is none
};

/// Understands both forms: "message" as an object with extraInfo, and as plain text. nullopt for
/// anything else: what a dying worker wrote may be incomplete.
std::optional<RecordedError> parse_recorded_error(const std::string& text);

}  // namespace ddprun
