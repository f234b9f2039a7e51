// run_worker(): what main() of a worker calls, so that an exception ends this worker at once, with
// its own words, and no other rank is taken for the culprit. Needs no LibTorch.
//
// It does what @record does in Python
// (https://docs.pytorch.org/docs/stable/elastic/errors.html), and writes the same file.
#pragma once

#include <functional>

namespace ddprun::sdk {

/// Calls `train`, and returns 0 when it has returned: `int main() { return run_worker(train); }`.
///
/// When `train` throws, the process ends with code 1 instead, and main() does not go on. Before
/// that, "PROGRAM: rank R of N: TYPE: what()" is written to standard error, with a line for each
/// exception that is nested in it. The same goes into the file that TORCHELASTIC_ERROR_FILE names,
/// in the JSON that torch's @record writes; ddprun and torchrun show it in their reports. Objects
/// in `train` are destroyed before that, but a ProcessGroup keeps its connections: the other ranks
/// notice nothing until this one has said what is wrong. What std::cout and FILEs have in their
/// buffers is written. Destructors of static objects and functions of
/// std::atexit() are left out, because they may wait for ranks that will not come.
int run_worker(const std::function<void()>& train);

}  // namespace ddprun::sdk
