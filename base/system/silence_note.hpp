// SilenceNote: whoever waits for a disk or a server of files is told, when it gives no answer.
#pragma once

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
  struct Shared;
  std::shared_ptr<Shared> shared_;  // with a thread
};

}  // namespace ddprun
