// KeptCheckpoints: which checkpoints of the program a node keeps. Its agent tells it, and the
// status shows it. Pure.
#pragma once

#include <cstdint>
#include <string>

namespace ddprun {

struct KeptCheckpoints {
  std::string newest;                // the name of the one in memory; "": none is complete yet
  std::int64_t bytes = 0;            // that are new in it
  std::int64_t age_ms = 0;           // since it was kept
  std::string written;               // the newest on disk; "": none
  std::int64_t written_bytes = -1;   // that are new in that one; -1: none
  std::int64_t written_age_ms = -1;  // since that one was kept; -1: none
  int put_back = -1;                 // rounds here that began with a checkpoint; -1: not known
  bool operator==(const KeptCheckpoints&) const = default;
};

}  // namespace ddprun
