// The operations of ProcessGroup between two ranks, send and recv, and its barriers.
#include <algorithm>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <utility>

#include "worker_sdk/group/collective_checks.hpp"
#include "worker_sdk/group/group_store.hpp"
#include "worker_sdk/group/process_group_state.hpp"

namespace ddprun::sdk {

namespace {

void check_message(const Operation& call, const TensorDevices& devices, const torch::Tensor& tensor,
                   int peer) {
  const CollectiveChecks check{call, devices};
  check.tensor(tensor, "the tensor");
  if (peer != kAnySource || call.name == "send") {
    check.peer(peer);
  } else if (devices.by_nccl(tensor)) {
    call.refuse("NCCL receives from a rank that is given only; gloo also from any");
  }
}

}  // namespace

Work ProcessGroup::barrier_async() const {
  Operation call = operation("barrier", {});
  c10d::BarrierOptions options;
  if (device().is_cuda()) options.device_ids = {device().index()};
  auto work = call.start([&] { return c10d_group()->barrier(options); });
  return {std::move(call), std::move(work)};
}

void ProcessGroup::monitored_barrier(Milliseconds timeout) const {
  if (timeout.count() == 0) timeout = this->timeout();
  const Operation call = operation("monitored_barrier", {});
  const std::string key = "monitored_barrier/" + std::to_string(++state_->monitored_barriers);
  std::vector<int> missing;
  call.guard([&] {
    missing = await_all(*state_->store, key, {.rank = rank(), .size = size(), .timeout = timeout});
  });
  if (missing.empty()) return;
  throw CommunicationError{call.describe() + ": " + list_ranks(missing) +
                           (missing.size() == 1 ? " has" : " have") + " not come within " +
                           std::to_string(timeout.count()) + " ms"};
}

Work ProcessGroup::isend(const torch::Tensor& tensor, int peer, int tag) const {
  Operation call = operation("send", {tensor});
  check_message(call, state_->devices, tensor, peer);
  Tensors tensors{tensor};
  auto work = call.start([&] { return c10d_group()->send(tensors, peer, tag); });
  return {std::move(call), std::move(work)};
}

Work ProcessGroup::irecv(const torch::Tensor& tensor, int peer, int tag) const {
  Operation call = operation("recv", {tensor});
  check_message(call, state_->devices, tensor, peer);
  Tensors tensors{tensor};
  auto work = call.start([&] {
    return peer == kAnySource ? c10d_group()->recvAnysource(tensors, tag)
                              : c10d_group()->recv(tensors, peer, tag);
  });
  return {std::move(call), std::move(work)};
}

int ProcessGroup::recv(const torch::Tensor& tensor, int peer, int tag) const {
  const Work work = irecv(tensor, peer, tag);
  work.wait();
  return peer == kAnySource ? work.source_rank() : peer;
}

std::vector<Work> ProcessGroup::batch_isend_irecv(const std::vector<P2POp>& operations) const {
  Operation call = operation("batch_isend_irecv");
  for (const P2POp& one : operations) call.tensors.push_back(one.tensor);
  // All are checked before the first begins: NCCL would wait for the rest of the batch for ever.
  for (const P2POp& one : operations) check_message(call, state_->devices, one.tensor, one.peer);
  const auto by_nccl = std::ranges::count_if(
      operations, [&](const P2POp& one) { return state_->devices.by_nccl(one.tensor); });
  if (by_nccl > 0 && by_nccl < std::ssize(operations))
    call.refuse("some of its tensors are on a GPU and some on the CPU; make a batch of each");
  const bool together = by_nccl > 0;
  if (together) c10d_group()->startCoalescing(torch::kCUDA);
  std::vector<Work> works;
  for (const P2POp& one : operations)
    works.push_back(one.kind == P2POp::Kind::kSend ? isend(one.tensor, one.peer, one.tag)
                                                   : irecv(one.tensor, one.peer, one.tag));
  if (!together) return works;
  auto work = call.start([&] { return c10d_group()->endCoalescing(torch::kCUDA); });
  return {Work{std::move(call), std::move(work)}};
}

}  // namespace ddprun::sdk
