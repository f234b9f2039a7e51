// What tests of several ranks have in common.
#pragma once

#include "ddprun/process_group.hpp"
#include "tests/support/catch.hpp"

namespace ddprun::sdk {

/// All ranks of the job, over Gloo; of the one that ddprun has started.
inline const ProcessGroup& group() {
  static const ProcessGroup all = init_process_group({.backend = "gloo"});
  return all;
}

/// Whether a case cannot run with so few ranks, which it then says: a case that asserts nothing
/// fails.
inline bool too_few_ranks(int needed) {
  if (group().size() >= needed) return false;
  SUCCEED("needs " << needed << " ranks");
  return true;
}

}  // namespace ddprun::sdk
