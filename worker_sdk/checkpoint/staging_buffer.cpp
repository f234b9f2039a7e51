#include "worker_sdk/checkpoint/staging_buffer.hpp"

#include <dlfcn.h>
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

/// A function of the CUDA runtime that LibTorch has loaded, with results as in cuda_runtime_api.h;
/// null without one. To link it would tie programs to that library's name.
template <typename Function>
Function* of_cuda(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

bool register_memory(void* memory, std::size_t bytes) {
  constexpr unsigned kPortable = 1;  // cudaHostRegisterPortable: for all GPUs of this process
  auto* const host_register = of_cuda<int(void*, std::size_t, unsigned)>("cudaHostRegister");
  if (host_register == nullptr) return false;
  if (host_register(memory, bytes, kPortable) == 0) return true;
  // Else LibTorch would take the error for one of its own, later.
  if (auto* const take_error = of_cuda<int()>("cudaGetLastError")) take_error();
  return false;
}

}  // namespace

StagingBuffer::~StagingBuffer() { release(); }

std::byte* StagingBuffer::reserve(std::size_t bytes, bool pinned) {
  if (bytes > bytes_ || pinned != pinned_) {
    release();
    bytes = round_up(bytes);
    if (bytes > 0) {
      void* memory =
          mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (memory == MAP_FAILED) throw std::bad_alloc{};
      mapped_ = memory;
      madvise(mapped_, bytes, MADV_HUGEPAGE);
      touch(static_cast<std::byte*>(mapped_), bytes);
      registered_ = pinned && register_memory(mapped_, bytes);
    }
    pinned_ = pinned;
    bytes_ = bytes;
  }
  return static_cast<std::byte*>(mapped_);
}

void StagingBuffer::release() {
  if (registered_)
    if (auto* const host_unregister = of_cuda<int(void*)>("cudaHostUnregister"))
      host_unregister(mapped_);
  registered_ = false;
  if (mapped_ != nullptr) munmap(mapped_, bytes_);
  mapped_ = nullptr;
  bytes_ = 0;
}

}  // namespace ddprun::sdk
