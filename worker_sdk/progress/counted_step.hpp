// CountedStep: tells the agent of ddprun of the steps that an elastic loop has counted.
#pragma once

#include <cstdint>

#include "ddprun/heartbeat.hpp"

namespace ddprun::sdk {

/// Does so where the program has no Heartbeat that beats: that one knows more.
class CountedStep {
 public:
  /// The whole training has `steps` steps; 0: not known.
  void expect(std::int64_t steps) { heartbeat_.set_total_steps(steps); }
  /// That step is counted; see Heartbeat::beat().
  void tell(std::int64_t step, std::int64_t samples, double loss);

 private:
  Heartbeat heartbeat_;
};

}  // namespace ddprun::sdk
