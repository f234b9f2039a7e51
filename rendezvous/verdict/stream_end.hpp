// StreamEnd: the last that a worker wrote to one of its streams, with the times at which signs of
// its end came.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"

namespace ddprun {

struct StreamEnd {
  /// The header of a traceback, or the like, somewhere behind that byte.
  struct Mark {
    std::size_t offset = 0;  // in `text`
    TimePoint came;
  };
  std::string text;         // as it came
  std::vector<Mark> marks;  // in the order of their offsets

  /// When what begins at `offset` came; nullopt when that was not noted.
  std::optional<TimePoint> came(std::size_t offset) const {
    for (const Mark& mark : marks)
      if (mark.offset >= offset) return mark.came;
    return std::nullopt;
  }
};

}  // namespace ddprun
