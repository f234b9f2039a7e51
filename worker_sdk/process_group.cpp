#include "worker_sdk/process_group.hpp"

#include <c10/cuda/CUDAFunctions.h>

#include <stdexcept>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <utility>

namespace ddprun::sdk {

namespace {

using Group = c10d::ProcessGroup;
using StorePtr = c10::intrusive_ptr<c10d::Store>;

StorePtr meet_at_store(const WorkerEnv& env, std::chrono::milliseconds timeout) {
  c10d::TCPStoreOptions options;
  options.port = static_cast<std::uint16_t>(env.master_port);
  options.isServer = !env.use_agent_store && env.rank == 0;
  options.numWorkers = env.world_size;
  options.timeout = timeout;
  options.multiTenant = true;
  const auto store = c10::make_intrusive<c10d::TCPStore>(env.master_addr, options);
  // The name of torch.distributed's default group: a store that outlives a group knows it by it.
  return c10::make_intrusive<c10d::PrefixStore>("default_pg", store);
}

torch::Device choose_device(const std::string& backend, const WorkerEnv& env) {
  if (backend != "" && backend != "nccl" && backend != "gloo")
    throw std::invalid_argument{"backend '" + backend + "': expected nccl, gloo, or nothing"};
  const int gpus = static_cast<int>(torch::cuda::device_count());
  if (backend == "gloo" || (backend.empty() && gpus == 0)) return torch::kCPU;
  if (env.local_rank >= gpus)
    throw std::invalid_argument{"backend nccl needs a GPU for every worker: local rank " +
                                std::to_string(env.local_rank) + " sees " + std::to_string(gpus) +
                                "; start fewer workers on this node, or use gloo"};
  return {torch::kCUDA, static_cast<torch::DeviceIndex>(env.local_rank)};
}

void add_backend(Group& group, const StorePtr& store, torch::Device device,
                 std::chrono::milliseconds timeout) {
  if (device.is_cuda()) {
    auto options = c10d::ProcessGroupNCCL::Options::create();
    options->timeout = timeout;
    group.setBackend(device.type(), Group::NCCL,
                     c10::make_intrusive<c10d::ProcessGroupNCCL>(
                         c10::make_intrusive<c10d::PrefixStore>("cuda", store), group.getRank(),
                         group.getSize(), options));
    group.setDefaultBackend(Group::NCCL);
    return;
  }
  group.setBackend(device.type(), Group::GLOO,
                   c10::make_intrusive<c10d::ProcessGroupGloo>(
                       c10::make_intrusive<c10d::PrefixStore>("cpu", store), group.getRank(),
                       group.getSize(), c10d::ProcessGroupGloo::Options::create_default(timeout)));
  group.setDefaultBackend(Group::GLOO);
}

}  // namespace

ProcessGroup::ProcessGroup(WorkerEnv env, torch::Device device,
                           c10::intrusive_ptr<c10d::ProcessGroup> group)
    : env_{std::move(env)}, device_{device}, group_{std::move(group)} {}

void ProcessGroup::all_reduce(torch::Tensor& tensor, const c10d::ReduceOp& op) const {
  std::vector<torch::Tensor> tensors{tensor};
  c10d::AllreduceOptions options;
  options.reduceOp = op;
  group_->allreduce(tensors, options)->wait();
}

void ProcessGroup::broadcast(torch::Tensor& tensor, int root) const {
  std::vector<torch::Tensor> tensors{tensor};
  c10d::BroadcastOptions options;
  options.rootRank = root;
  group_->broadcast(tensors, options)->wait();
}

void ProcessGroup::barrier() const {
  c10d::BarrierOptions options;
  if (device_.is_cuda()) options.device_ids = {device_.index()};
  group_->barrier(options)->wait();
}

ProcessGroup init_process_group(const ProcessGroupOptions& options, const WorkerEnv& env) {
  const torch::Device device = choose_device(options.backend, env);
  if (device.is_cuda()) c10::cuda::set_device(device.index());
  const StorePtr store = meet_at_store(env, options.timeout);
  auto group = c10::make_intrusive<Group>(store, env.rank, env.world_size);
  add_backend(*group, store, device, options.timeout);
  group->setGroupName("0");
  return {env, device, std::move(group)};
}

}  // namespace ddprun::sdk
