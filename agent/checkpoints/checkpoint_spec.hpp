// What the option --checkpoints says. Pure.
#pragma once

#include <string>

namespace ddprun {

/// Both are full names.
struct CheckpointSpec {
  std::string folder;   // the program writes its checkpoints there
  std::string disk;     // they are kept there
  bool shared = false;  // with other nodes of the job, which keep theirs together
  bool operator==(const CheckpointSpec&) const = default;
};

}  // namespace ddprun
