// The block of lines that torchrun ends with, which programs that read logs look for ("Root Cause
// (first observed failure)", https://docs.pytorch.org/docs/stable/elastic/errors.html). Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/failure.hpp"

namespace ddprun {

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
