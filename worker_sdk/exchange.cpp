#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <utility>

#include "worker_sdk/collective_checks.hpp"
#include "worker_sdk/group_store.hpp"
#include "worker_sdk/process_group_state.hpp"

namespace ddprun::sdk {

namespace {

torch::Tensor flat(const Tensors& tensors) {
  Tensors rows;
  for (const torch::Tensor& tensor : tensors) rows.push_back(tensor.detach().reshape({-1}));
  return torch::cat(rows);
}

std::vector<std::int64_t> lengths(const Tensors& tensors) {
  std::vector<std::int64_t> all;
  for (const torch::Tensor& tensor : tensors) all.push_back(tensor.numel());
  return all;
}

void copy_parts(const torch::Tensor& whole, const Tensors& parts) {
  const torch::NoGradGuard no_grad;
  const Tensors pieces = whole.split_with_sizes(lengths(parts));
  for (std::size_t i = 0; i < parts.size(); ++i)
    parts[i].detach().copy_(pieces[i].view(parts[i].sizes()));
}

void check_message(const Operation& call, torch::Device device, const torch::Tensor& tensor,
                   int peer) {
  const CollectiveChecks check{call, device};
  check.tensor(tensor, "the tensor");
  if (peer != kAnySource || call.name == "send") {
    check.peer(peer);
  } else if (device.is_cuda()) {
    call.refuse("NCCL receives from a rank that is given only; gloo also from any");
  }
}

}  // namespace

Work ProcessGroup::all_to_all_async(const Tensors& outputs, const Tensors& inputs) const {
  Tensors tensors = inputs;
  tensors.insert(tensors.end(), outputs.begin(), outputs.end());
  Operation call = operation("all_to_all", std::move(tensors));
  const CollectiveChecks check{call, device()};
  for (const auto& [list, name] : {std::pair{&inputs, "inputs"}, std::pair{&outputs, "outputs"}}) {
    if (static_cast<int>(list->size()) != size())
      call.refuse(std::string{name} + " has " + std::to_string(list->size()) +
                  " tensors, expected one for each of the " + std::to_string(size()) + " ranks");
    for (std::size_t i = 0; i < list->size(); ++i) {
      check.tensor((*list)[i], std::string{name} + "[" + std::to_string(i) + "]");
      check.same_dtype((*list)[i], inputs.front());
    }
  }
  // Gloo has it for one tensor only.
  torch::Tensor from = flat(inputs);
  torch::Tensor to = torch::empty_like(flat(outputs));
  std::vector<std::int64_t> to_lengths = lengths(outputs);
  std::vector<std::int64_t> from_lengths = lengths(inputs);
  auto work =
      call.start([&] { return c10d_group()->alltoall_base(to, from, to_lengths, from_lengths); });
  return {std::move(call), std::move(work), [to, outputs] { copy_parts(to, outputs); }};
}

Work ProcessGroup::all_to_all_single_async(const torch::Tensor& output, const torch::Tensor& input,
                                           const std::vector<std::int64_t>& output_splits,
                                           const std::vector<std::int64_t>& input_splits) const {
  Operation call = operation("all_to_all_single", {output, input});
  const CollectiveChecks check{call, device()};
  check.tensor(output, "output");
  check.tensor(input, "input");
  check.same_dtype(output, input);
  check.splits(output, output_splits, "output");
  check.splits(input, input_splits, "input");
  torch::Tensor to = output;
  torch::Tensor from = input;
  std::vector<std::int64_t> to_splits = output_splits;
  std::vector<std::int64_t> from_splits = input_splits;
  auto work =
      call.start([&] { return c10d_group()->alltoall_base(to, from, to_splits, from_splits); });
  return {std::move(call), std::move(work)};
}

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
  call.guard([&] { missing = await_all(*state_->store, key, rank(), size(), timeout); });
  if (missing.empty()) return;
  throw CommunicationError{call.describe() + ": " + list_ranks(missing) +
                           (missing.size() == 1 ? " has" : " have") + " not come within " +
                           std::to_string(timeout.count()) + " ms"};
}

Work ProcessGroup::isend(const torch::Tensor& tensor, int peer, int tag) const {
  Operation call = operation("send", {tensor});
  check_message(call, device(), tensor, peer);
  Tensors tensors{tensor};
  auto work = call.start([&] { return c10d_group()->send(tensors, peer, tag); });
  return {std::move(call), std::move(work)};
}

Work ProcessGroup::irecv(const torch::Tensor& tensor, int peer, int tag) const {
  Operation call = operation("recv", {tensor});
  check_message(call, device(), tensor, peer);
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
  // All of them before the first, or NCCL would wait for the rest of the batch for ever.
  for (const P2POp& one : operations) check_message(call, device(), one.tensor, one.peer);
  const bool together = device().is_cuda() && !operations.empty();
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
