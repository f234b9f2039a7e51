// A child of this process is started, without a copy of this one's memory (vfork(2)).
#pragma once

#include <sys/types.h>

#include <vector>

#include "base/descriptor.hpp"
#include "base/process/command.hpp"

namespace ddprun {

/// What becomes a child's standard output, error and input; -1: shared with the agent.
struct ChildStreams {
  int out = -1;
  int err = -1;
  int in = -1;
};

struct NewChild {
  Command command;
  ChildStreams streams = {};
  std::vector<int> files = {};  // become 3, 4, ...
};

/// What became of a start.
struct StartedChild {
  pid_t pid = -1;
  int pidfd = -1;         // from watch_child(), once the program runs
  int error_number = 0;   // why the program does not run
  bool is_placed = true;  // false: that was because it may not run on its CPUs
  int memory_errno = 0;   // why its memory is not where it was wished
};

/// Starts one child. It touches nothing but its arguments, so any thread may call it; the thread
/// sleeps until the child has its program, or none.
StartedChild start_child(const Command& command, const ChildStreams& streams,
                         const std::vector<int>& files);

/// Kills one that is not wanted. It is reaped as orphans are, for a dead disk may keep it.
void put_down(const StartedChild& started);

/// The files of a child, opened once more. Their owner may close them while the child is on its
/// way, and another file then has their numbers.
class OwnFiles {
 public:
  explicit OwnFiles(const NewChild& child);

  /// start_child() with these files, or why one of them could not be opened.
  StartedChild start(const Command& command) const;

 private:
  int copy_of(int file);

  std::vector<Descriptor> open_;
  ChildStreams streams_;
  std::vector<int> files_;
  int error_number_ = 0;
};

}  // namespace ddprun
