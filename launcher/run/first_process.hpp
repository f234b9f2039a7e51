// In a container ddprun often is process 1. The kernel does not let signals end that one unless it
// handles them (pid_namespaces(7)), so a container would outlive its stop signal while ddprun
// starts up, reads files or serves.
#pragma once

namespace ddprun {

/// Makes process 1 end by the signals that end any other process, with exit code 128 + signal,
/// until somebody else handles them. Other processes, and signals that are ignored, stay as they
/// are.
void end_by_signals_as_others_do();

}  // namespace ddprun
