// What was found out about one worker when it was looked at, and how that is described. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agent/introspection/flight_recorder.hpp"
#include "agent/introspection/python_stack.hpp"
#include "rendezvous/messages/hang_report.hpp"

namespace ddprun {

/// How a worker has ended; kGaveUp: it has failed because it had waited in vain.
enum class Ending { kNone, kWell, kFailed, kGaveUp };

struct WorkerFinding {
  int rank = 0;
  Ending ending = Ending::kNone;
  char state = '?';  // its main thread's, as ps(1) has it
  std::string wait_channel;
  bool looked_into = true;  // and not only seen from outside
  bool has_server = false;  // it has imported torch.distributed
  bool answers = false;     // its server does
  bool keeps_lock = false;  // it answers, but no thread of it gets the interpreter's lock
  bool idle = false;        // it has not used its CPU since it went on last
  ThreadWait thread_wait = ThreadWait::kNo;
  Frames frames;             // the thread that tells where it is; empty: unknown
  std::string native_stack;  // as StackGroup has it; "": unknown
  std::optional<PendingCollective> pending;
  std::string waits_in;  // the store: see RankProgress
  struct Child {
    int pid = 0;
    char state = '?';
    Frames frames;
  };
  std::vector<Child> data_loaders;  // its processes, when it waits for one of them
};

/// Whether its main thread sleeps at a known place, and not because it waits for other ranks.
bool sleeps_by_itself(const WorkerFinding& finding);

/// The description of the worker: one group, and one more for each data loader's process that it
/// waits for and of which there is a stack.
std::vector<StackGroup> describe(const WorkerFinding& finding);

/// Workers in the same state, at the same place, as one group.
std::vector<StackGroup> fold(const std::vector<WorkerFinding>& findings);

}  // namespace ddprun
