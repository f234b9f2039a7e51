// What is reported of failed workers: cut to what a message may carry, and as the block of lines
// that torchrun ends with. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/failure.hpp"

namespace ddprun {

// shorten_texts(): cuts what is known of a failed worker to what one message to the coordinator may
// carry. A worker chooses most of these texts, and no length of an exception, and no control
// characters in it, may suppress the report of the failure.

/// The longest that the message and the traceback of a failure may be, and all its last lines
/// together. As JSON each can take twice as much.
inline constexpr std::size_t kFailureTextBytesMax = 16 * 1024;

/// The longest that a short text of a failure may be, as the name of its host.
inline constexpr std::size_t kFailureWordBytesMax = 1024;

/// Makes all texts of `failure` printable (base/text.hpp) and cuts those that are too long: of
/// the message the beginning stays, of the traceback and of the last lines the end. Files keep
/// their exact names, because they are looked for; a name is forgotten when it is too long: no
/// system call takes one of PATH_MAX bytes. `most` stands for kFailureTextBytesMax.
void shorten_texts(WorkerFailure& failure, std::size_t most = kFailureTextBytesMax);

// The block of lines that torchrun ends with, which programs that read logs look for ("Root Cause
// (first observed failure)", https://docs.pytorch.org/docs/stable/elastic/errors.html).

/// A worker of which nothing is known but its rank has this process id.
inline constexpr std::int64_t kUnknownPid = -1;

/// The failures that the block names.
struct TorchrunFailures {
  std::string title;                  // the script or program
  WorkerFailure root;                 // the cause of the whole job's failure
  std::string fault;                  // its sentence where nothing was recorded; "": not known
  std::vector<WorkerFailure> others;  // the others of this node
};

/// The block, several lines with their ends. Control characters in any text are written as their
/// numbers (base/text.hpp).
std::string torchrun_block(const TorchrunFailures& failures);

}  // namespace ddprun
