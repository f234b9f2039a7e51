#include "worker_sdk/checkpoint/staging_buffer.hpp"

#include <sys/mman.h>

#include <new>

namespace ddprun::sdk {

namespace {

constexpr std::size_t kHugePageBytes = 2 * 1024 * 1024;
constexpr std::size_t kSmallPageBytes = 4096;

std::size_t round_up(std::size_t bytes) {
  return (bytes + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes;
}

void touch(std::byte* memory, std::size_t bytes) {
#ifdef MADV_POPULATE_WRITE
  if (madvise(memory, bytes, MADV_POPULATE_WRITE) == 0) return;  // Linux 5.14
#endif
  for (std::size_t i = 0; i < bytes; i += kSmallPageBytes)
    static_cast<volatile std::byte*>(memory)[i] = std::byte{};
}

}  // namespace

StagingBuffer::~StagingBuffer() { release(); }

std::byte* StagingBuffer::reserve(std::size_t bytes, bool pinned) {
  if (bytes > bytes_ || pinned != pinned_.defined()) {
    release();
    bytes = round_up(bytes);
    if (pinned) {
      pinned_ = torch::empty({static_cast<std::int64_t>(bytes)},
                             torch::TensorOptions{}.dtype(torch::kUInt8).pinned_memory(true));
    } else if (bytes > 0) {
      void* memory =
          mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (memory == MAP_FAILED) throw std::bad_alloc{};
      mapped_ = memory;
      madvise(mapped_, bytes, MADV_HUGEPAGE);
      touch(static_cast<std::byte*>(mapped_), bytes);
    }
    bytes_ = bytes;
  }
  return static_cast<std::byte*>(pinned ? pinned_.mutable_data_ptr() : mapped_);
}

void StagingBuffer::release() {
  if (mapped_ != nullptr) munmap(mapped_, bytes_);
  mapped_ = nullptr;
  pinned_.reset();
  bytes_ = 0;
}

}  // namespace ddprun::sdk
