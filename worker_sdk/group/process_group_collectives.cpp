// The operations of ProcessGroup that move tensors and compute nothing: broadcast, gather, scatter,
// and all_to_all.
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <utility>

#include "worker_sdk/group/collective_checks.hpp"
#include "worker_sdk/group/process_group_state.hpp"
#include "worker_sdk/group/single_tensors.hpp"

namespace ddprun::sdk {

namespace {

Tensors like_for_each_rank(const torch::Tensor& tensor, int size) {
  Tensors all;
  for (int i = 0; i < size; ++i) all.push_back(torch::empty_like(tensor));
  return all;
}

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

}  // namespace

Work ProcessGroup::broadcast_async(const torch::Tensor& tensor, int root) const {
  Operation call = operation("broadcast", {tensor});
  const CollectiveChecks check{call, state_->devices};
  check.tensor(tensor, "the tensor");
  check.rank(root, "root");
  Tensors tensors{tensor};
  c10d::BroadcastOptions options;
  options.rootRank = root;
  auto work = call.start([&] { return c10d_group()->broadcast(tensors, options); });
  return {std::move(call), std::move(work)};
}

Work ProcessGroup::all_gather_async(const Tensors& outputs, const torch::Tensor& input) const {
  Operation call = operation("all_gather", {input});
  const CollectiveChecks check{call, state_->devices};
  check.tensor(input, "input");
  check.one_per_rank(outputs, input, "outputs");
  std::vector<Tensors> all_outputs{outputs};
  Tensors inputs{input};
  auto work = call.start([&] { return c10d_group()->allgather(all_outputs, inputs); });
  return {std::move(call), std::move(work)};
}

Tensors ProcessGroup::all_gather(const torch::Tensor& input) const {
  Tensors outputs = like_for_each_rank(input, size());
  all_gather(outputs, input);
  return outputs;
}

Work ProcessGroup::all_gather_into_tensor_async(const torch::Tensor& output,
                                                const torch::Tensor& input) const {
  Operation call = operation("all_gather_into_tensor", {output, input});
  CollectiveChecks{call, state_->devices}.is_whole_of(output, "output", input, "input");
  torch::Tensor to = in_one_row(output);
  torch::Tensor from = in_one_row(input);
  auto work = call.start([&] { return gather_in_one(*c10d_group(), to, from); });
  return {std::move(call), std::move(work)};
}

Work ProcessGroup::gather_async(const Tensors& outputs, const torch::Tensor& input,
                                int root) const {
  Operation call = operation("gather", {input});
  const CollectiveChecks check{call, state_->devices};
  check.rank(root, "root");
  check.tensor(input, "input");
  std::vector<Tensors> all_outputs;
  if (rank() == root) {
    check.one_per_rank(outputs, input, "outputs");
    all_outputs.push_back(outputs);
  } else if (!outputs.empty()) {
    call.refuse("outputs must be empty here: only rank " + std::to_string(root) + " gets them");
  }
  Tensors inputs{input};
  c10d::GatherOptions options;
  options.rootRank = root;
  auto work = call.start([&] { return c10d_group()->gather(all_outputs, inputs, options); });
  return {std::move(call), std::move(work)};
}

Tensors ProcessGroup::gather(const torch::Tensor& input, int root) const {
  Tensors outputs;
  if (rank() == root) outputs = like_for_each_rank(input, size());
  gather(outputs, input, root);
  return outputs;
}

Work ProcessGroup::scatter_async(const torch::Tensor& output, const Tensors& inputs,
                                 int root) const {
  Operation call = operation("scatter", {output});
  const CollectiveChecks check{call, state_->devices};
  check.rank(root, "root");
  check.tensor(output, "output");
  std::vector<Tensors> all_inputs;
  if (rank() == root) {
    check.one_per_rank(inputs, output, "inputs");
    all_inputs.push_back(inputs);
  } else if (!inputs.empty()) {
    call.refuse("inputs must be empty here: only rank " + std::to_string(root) + " gives them");
  }
  Tensors outputs{output};
  c10d::ScatterOptions options;
  options.rootRank = root;
  auto work = call.start([&] { return c10d_group()->scatter(outputs, all_inputs, options); });
  return {std::move(call), std::move(work)};
}

Work ProcessGroup::all_to_all_async(const Tensors& outputs, const Tensors& inputs) const {
  Tensors tensors = inputs;
  tensors.insert(tensors.end(), outputs.begin(), outputs.end());
  Operation call = operation("all_to_all", std::move(tensors));
  const CollectiveChecks check{call, state_->devices};
  for (const auto& [list, name] : {std::pair{&inputs, "inputs"}, std::pair{&outputs, "outputs"}}) {
    if (static_cast<int>(list->size()) != size())
      call.refuse(std::string{name} + " has " + std::to_string(list->size()) +
                  " tensors, expected one for each of the " + std::to_string(size()) + " ranks");
    for (std::size_t i = 0; i < list->size(); ++i) {
      check.tensor((*list)[i], std::string{name} + "[" + std::to_string(i) + "]");
      check.same_dtype((*list)[i], inputs.front());
    }
  }
  // Gloo can exchange the parts of one tensor, not a list of tensors.
  torch::Tensor from = flat(inputs);
  torch::Tensor to = torch::empty_like(flat(outputs));
  std::vector<std::int64_t> to_lengths = lengths(outputs);
  std::vector<std::int64_t> from_lengths = lengths(inputs);
  auto work = call.start(
      [&] { return exchange_in_one(*c10d_group(), to, from, to_lengths, from_lengths); });
  return {std::move(call), std::move(work), [to, outputs] { copy_parts(to, outputs); }};
}

Work ProcessGroup::all_to_all_single_async(const torch::Tensor& output, const torch::Tensor& input,
                                           const std::vector<std::int64_t>& output_splits,
                                           const std::vector<std::int64_t>& input_splits) const {
  Operation call = operation("all_to_all_single", {output, input});
  const CollectiveChecks check{call, state_->devices};
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
      call.start([&] { return exchange_in_one(*c10d_group(), to, from, to_splits, from_splits); });
  return {std::move(call), std::move(work)};
}

}  // namespace ddprun::sdk
