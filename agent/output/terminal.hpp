// A pseudo-terminal for a worker's output, so that programs behave as they do for a person: one
// line at a time, in colour, with progress bars. See pty(7).
#pragma once

#include "base/result.hpp"

namespace ddprun {

struct Terminal {
  int ours = -1;     // reads what is written to it; does not block
  int workers = -1;  // the end that the worker writes to
};

/// Opens one that passes every byte on unchanged, and has the size of ddprun's own terminal if
/// there is one. Errors: kUnavailable.
Result<Terminal> open_terminal();

/// Gives the terminal behind `ours` the size that ddprun's own terminal has now.
void copy_window_size(int ours);

}  // namespace ddprun
