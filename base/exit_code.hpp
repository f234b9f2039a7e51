// The exit codes of ddprun that are its own. docs/report.md quotes them.
#pragma once

namespace ddprun {

enum ExitCode : int {
  kUsage = 2,                // the command line makes no sense
  kNoCoordinator = 69,       // the coordinator or a host cannot be reached, was lost, or refuses
  kInternalError = 70,       // a bug in ddprun
  kSystemError = 71,         // the system refused something: a port, a directory
  kTooFewNodes = 75,         // fewer than MIN nodes until the join timeout
  kPreempted = 85,           // the end was announced, with time for a checkpoint: run it again
  kHung = 86,                // the workers hung, and --on-hang has stopped the job
  kProgramNotStarted = 126,  // the program is there and cannot be executed
  kProgramNotFound = 127,    // there is no such program
};

}  // namespace ddprun
