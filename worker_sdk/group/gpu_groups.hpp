// GpuGroups: frees a worker whose GPU waits in NCCL for other members. The module for Python has
// the same (worker_sdk/python/ddprun/_nccl.py).
//
// A kernel that waits for a member that is gone never ends, and the stream waits behind it. An
// abort ends the kernel, and leaves garbage where its result would be, without an error: what lies
// behind it in the stream is computed from that. So code that uses a reduced tensor waits for the
// GPU first, and then asks whether there was an abort.
#pragma once

#include <c10/core/Device.h>

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

namespace ddprun::sdk {

/// A group with NCCL is known to abort_gpu_groups() as long as this exists.
class GpuGroup {
 public:
  explicit GpuGroup(c10d::ProcessGroup& group);
  ~GpuGroup();
  GpuGroup(const GpuGroup&) = delete;
  GpuGroup& operator=(const GpuGroup&) = delete;

 private:
  c10d::ProcessGroup& group_;
};

/// Ends what the GPU waits for in any group of this process. Any thread may call it, again and
/// again.
void abort_gpu_groups();

/// Called before a group is made: LibTorch's watchdog would end this process when a member is lost.
/// Else it sleeps for four times the time in which ranks are to write down what they did, a minute,
/// and holds the group up meanwhile. An abort may hang where switches reduce (NVLS), so that is
/// left out unless the variable NCCL_NVLS_ENABLE asks for it.
void keep_process_without_members();

/// Waits until the GPU has computed all that the current stream waits for.
void await_stream(c10::Device device);
/// Waits until the GPU does nothing. Errors: those of the GPU itself.
void await_gpu(c10::Device device);

}  // namespace ddprun::sdk
