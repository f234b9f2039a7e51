// NoMemoryBeyond: a system that has no memory for large requests.
#pragma once

#include <cstddef>

namespace ddprun {

/// While it lives, operator new throws std::bad_alloc for more than `bytes_max` at once. The test
/// program links failing_memory.cpp.
class NoMemoryBeyond {
 public:
  explicit NoMemoryBeyond(std::size_t bytes_max);
  ~NoMemoryBeyond();
  NoMemoryBeyond(const NoMemoryBeyond&) = delete;
  NoMemoryBeyond& operator=(const NoMemoryBeyond&) = delete;
};

}  // namespace ddprun
