// How a worker is stopped: which of its processes gets which signal.
#pragma once

#include "base/process/child_process.hpp"

namespace ddprun {

/// Sends the signal to the group of the worker, also when the worker has ended. But one with a
/// handler for SIGTERM gets that alone: it saves what it has, and may need its children for that.
/// timeout(1), which hands signals on, gets every one alone. One that ignores SIGINT, as jobs do
/// that a script has started with `&`, gets SIGTERM in its place. Returns whether all of the group
/// has got SIGTERM.
bool tell_to_end(const ChildProcess& worker, int signal);

/// Sends the signal that asks for a checkpoint to the worker. Where that one has no handler for it,
/// as a shell or `conda run` around the program, the processes below it get it that have one, and
/// nothing below those. Returns whether somebody has one: else nobody gets the signal, for it would
/// only kill.
bool ask_for_checkpoint(const ChildProcess& worker, int signal);

}  // namespace ddprun
