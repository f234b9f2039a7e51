// SilenceNote: prints a note when a disk or a file server does not answer, so that the user knows
// what we are waiting for.
#pragma once

#include <list>
#include <memory>
#include <string>

namespace ddprun {

/// While one exists, this process reads or writes at `place`. Where that takes 5 s, standard error
/// says so: nothing else does, because the system has no deadline for it.
class SilenceNote {
 public:
  explicit SilenceNote(const std::string& place);
  SilenceNote(const SilenceNote&) = delete;
  SilenceNote& operator=(const SilenceNote&) = delete;
  ~SilenceNote();

 private:
  struct Wait;
  struct Waits;
  static std::shared_ptr<Waits> all();

  std::shared_ptr<Waits> waits_;  // with a thread
  std::list<Wait>::iterator wait_;
};

}  // namespace ddprun
