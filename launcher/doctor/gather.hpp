// Reads this node. Everything that may take long, or hang, is asked at one time, each in a process
// of its own with a deadline.
#pragma once

#include <string>

#include "launcher/doctor/reading.hpp"
#include "launcher/settings/launch.hpp"

namespace ddprun {

/// What the user wants to know about.
struct DoctorWish {
  std::string log_dir;         // "": no logs are written
  std::string checkpoint_dir;  // "": the job writes no checkpoints
  std::string script;          // "": it is not known
};

/// Reads this node. To be called while there is one thread.
NodeReading read_this_node(const DoctorWish& wish, const Surroundings& surroundings);

}  // namespace ddprun
