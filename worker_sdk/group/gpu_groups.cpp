#include "worker_sdk/group/gpu_groups.hpp"

#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <ranges>
#include <vector>

#include "ddprun/worker_env.hpp"

namespace ddprun::sdk {

namespace {

struct Groups {
  std::mutex mutex;
  std::vector<c10d::ProcessGroup*> living;  // the newest is the last
};

/// Never destroyed: a group may outlive the end of main().
Groups& groups() {
  static auto& groups = *new Groups;
  return groups;
}

}  // namespace

GpuGroup::GpuGroup(c10d::ProcessGroup& group) : group_{group} {
  const std::lock_guard lock{groups().mutex};
  groups().living.push_back(&group_);
}

GpuGroup::~GpuGroup() {
  const std::lock_guard lock{groups().mutex};
  std::erase(groups().living, &group_);
}

void abort_gpu_groups() {
  const std::lock_guard lock{groups().mutex};
  // Those within others first, as in torch.distributed.
  for (c10d::ProcessGroup* const group : std::views::reverse(groups().living)) group->abort();
}

void keep_process_without_members() {
  setenv(env::kNcclAsyncErrorHandling, "0", 1);
  setenv("TORCH_NCCL_DUMP_ON_TIMEOUT", "0", 1);
  setenv("TORCH_NCCL_WAIT_TIMEOUT_DUMP_MILSEC", "1", 1);
  setenv("NCCL_NVLS_ENABLE", "0", 0);
}

void await_stream(c10::Device device) {
  const c10::impl::VirtualGuardImpl guard{device.type()};
  guard.synchronizeStream(guard.getStream(device));
}

void await_gpu(c10::Device device) {
  c10::impl::VirtualGuardImpl{device.type()}.synchronizeDevice(device.index());
}

}  // namespace ddprun::sdk
