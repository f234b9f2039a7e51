// Guardian: a small process that cleans up if ddprun is killed in a way that lets it do nothing any
// more (SIGKILL). Workers die with ddprun anyway (PR_SET_PDEATHSIG); what they had put into
// sessions of their own would live on.
//
// It sleeps on a pipe until ddprun dismisses it, or is gone. Then it kills every process that
// carries the job's mark in its environment (worker_plan.hpp, kMarkVariable), whatever its parent
// is by now, and removes the files that ddprun would have removed itself.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "base/descriptor.hpp"

namespace ddprun {

class Guardian {
 public:
  /// Start it early: it is a copy of this process. If the system refuses, pid() is -1 and nothing
  /// is guarded.
  explicit Guardian(const std::string& mark);
  Guardian(const Guardian&) = delete;
  Guardian& operator=(const Guardian&) = delete;
  /// Dismisses it and waits for its end.
  ~Guardian();

  /// Has it remove a file, or a folder with all that is in it, if this process is killed.
  void also_remove(const std::filesystem::path& path);
  /// Has it remove a folder in which others may have something, if that is empty by then.
  void also_remove_if_empty(const std::filesystem::path& folder);

  /// It is a child of this process, and none of waitpid(-1).
  pid_t pid() const { return pid_; }

 private:
  void tell(std::string_view word);

  pid_t pid_ = -1;
  Descriptor pipe_;
};

}  // namespace ddprun
