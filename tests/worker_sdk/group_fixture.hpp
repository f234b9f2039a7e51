// What tests of several ranks have in common.
#pragma once

#include "ddprun/process_group.hpp"

namespace ddprun::sdk {

/// All ranks of the job, over Gloo; of the one that ddprun has started.
inline const ProcessGroup& group() {
  static const ProcessGroup all = init_process_group({.backend = "gloo"});
  return all;
}

}  // namespace ddprun::sdk
