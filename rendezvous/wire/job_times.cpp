#include "rendezvous/wire/job_times.hpp"

#include <algorithm>

namespace ddprun {

double Goodput::percent() const {
  if (wall_s <= 0) return 0;
  return std::clamp(100 * (training_s - lost_s) / wall_s, 0.0, 100.0);
}

}  // namespace ddprun
