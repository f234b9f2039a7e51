// require(): what a fuzz target says of a result that must never be.
#pragma once

#include <cstdlib>

namespace ddprun {

inline void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace ddprun
