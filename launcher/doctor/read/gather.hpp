// Reads this node. Everything that may take long, or hang, is asked at the same time, each in a
// process of its own with a deadline.
#pragma once

#include <string>
#include <vector>

#include "launcher/doctor/read/reading.hpp"
#include "launcher/settings/launch.hpp"

namespace ddprun {

/// What the user wants to know about.
struct ReadingOptions {
  std::string log_dir;             // "": no logs are written
  std::string checkpoint_dir;      // "": the job writes no checkpoints
  std::string script;              // "": it is not known
  bool keeps_checkpoints = false;  // there, with --checkpoints
};

/// Reads this node. To be called while there is one thread.
NodeReading read_this_node(const ReadingOptions& options, const LocalSystem& system);

struct FitnessReading {
  NodeReading node;
  bool gpus_are_late = false;  // the driver has not answered within 5 s: perhaps it wakes them up
};

/// Reads only what is looked at between two rounds: the folder of logs ("": none), that of
/// temporary files, `folders` of checkpoints, and GPUs. To be called while there is one thread.
FitnessReading read_for_fitness(const std::string& log_dir, const std::vector<std::string>& folders,
                                const LocalSystem& system);

}  // namespace ddprun
