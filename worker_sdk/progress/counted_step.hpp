// CountedStep: tells the agent of ddprun of the steps that an elastic loop has counted.
#pragma once

#include <cstdint>

#include "ddprun/heartbeat.hpp"

namespace ddprun::sdk {

/// Does so where the program has no Heartbeat that beats: that one knows more.
class CountedStep {
 public:
  void tell(std::int64_t step);

 private:
  Heartbeat heartbeat_;
};

}  // namespace ddprun::sdk
