// The block of lines that torchrun ends with, which programs that read logs look for ("Root Cause
// (first observed failure)", https://docs.pytorch.org/docs/stable/elastic/errors.html). Pure.
#pragma once

#include <string>
#include <vector>

#include "base/failure.hpp"

namespace ddprun {

/// The failures that the block names.
struct TorchrunFailures {
  std::string title;                  // the script or program
  WorkerFailure root;                 // the whole job's first
  std::string fault;                  // the exception and its place, in one line; "": not known
  std::vector<WorkerFailure> others;  // the others of this node
};

/// The block, several lines with their ends. Control characters in any text are written as their
/// numbers (base/printable.hpp).
std::string torchrun_block(const TorchrunFailures& failures);

}  // namespace ddprun
