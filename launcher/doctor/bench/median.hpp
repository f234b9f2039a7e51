// The median of figures. Pure.
#pragma once

#include <algorithm>
#include <vector>

namespace ddprun {

/// Returns the median, and of two in the middle the larger one; 0 when there is none.
inline double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

}  // namespace ddprun
