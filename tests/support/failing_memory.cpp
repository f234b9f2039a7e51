#include "tests/support/failing_memory.hpp"

#include <cstdlib>
#include <limits>
#include <new>

namespace {

constexpr std::size_t kAnySize = std::numeric_limits<std::size_t>::max();
std::size_t bytes_max = kAnySize;

}  // namespace

namespace ddprun {

NoMemoryBeyond::NoMemoryBeyond(std::size_t bytes) { bytes_max = bytes; }
NoMemoryBeyond::~NoMemoryBeyond() { bytes_max = kAnySize; }

}  // namespace ddprun

// All forms but those for more than usual alignment: a sanitizer's runtime brings its own ones of
// those that are not here, which do not call these.
void* operator new(std::size_t bytes) {
  void* const memory = bytes <= bytes_max ? std::malloc(bytes > 0 ? bytes : 1) : nullptr;
  if (memory == nullptr) throw std::bad_alloc{};
  return memory;
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return bytes <= bytes_max ? std::malloc(bytes > 0 ? bytes : 1) : nullptr;
}
void* operator new[](std::size_t bytes) { return operator new(bytes); }
void* operator new[](std::size_t bytes, const std::nothrow_t& nothrow) noexcept {
  return operator new(bytes, nothrow);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
