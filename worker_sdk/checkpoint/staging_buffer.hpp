// StagingBuffer: the memory that a checkpoint is copied into before it is written. It is kept and
// used again, because the kernel takes longer to hand out fresh pages than a copy takes.
#pragma once

#include <cstddef>

namespace ddprun::sdk {

/// One piece of memory that grows when it must.
class StagingBuffer {
 public:
  StagingBuffer() = default;
  ~StagingBuffer();
  StagingBuffer(const StagingBuffer&) = delete;
  StagingBuffer& operator=(const StagingBuffer&) = delete;

  /// Returns at least `bytes` of memory whose pages are there, in huge pages where the system has
  /// them (madvise(2)). With `pinned` it is memory that GPUs copy to fastest, if CUDA takes it
  /// (cudaHostRegister()), and no more than that: PyTorch's own pinned memory comes in powers of
  /// two, which is up to twice as much. What was in it is lost when it grows. Errors:
  /// std::bad_alloc.
  std::byte* reserve(std::size_t bytes, bool pinned);

 private:
  void release();

  void* mapped_ = nullptr;
  bool pinned_ = false;      // asked for
  bool registered_ = false;  // and CUDA has taken it
  std::size_t bytes_ = 0;
};

}  // namespace ddprun::sdk
