// Whose orders are obeyed in a job, as somebody knows it.
#pragma once

#include <cstdint>
#include <string>

namespace ddprun {

/// The last coordinator that is known to have begun a round.
struct Leader {
  std::int64_t epoch = 0;        // 0: none is known
  std::string coordinator = {};  // HOST:PORT; "": it was lost, and the next one is looked for
  bool operator==(const Leader&) const = default;
};

}  // namespace ddprun
