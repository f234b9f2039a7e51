// Samples that are their own numbers.
#pragma once

#include <cstdint>
#include <numeric>
#include <vector>

namespace ddprun::sdk {

using Indices = std::vector<std::int64_t>;

inline Indices up_to(std::int64_t size) {
  Indices indices(size);
  std::iota(indices.begin(), indices.end(), 0);
  return indices;
}

inline Indices same(const Indices& batch) { return batch; }

}  // namespace ddprun::sdk
