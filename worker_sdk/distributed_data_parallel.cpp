#include "worker_sdk/distributed_data_parallel.hpp"

#include <algorithm>
#include <stdexcept>
#include <torch/csrc/distributed/c10d/comm.hpp>
#include <torch/csrc/distributed/c10d/reducer.hpp>
#include <unordered_map>

namespace ddprun::sdk {

namespace {

constexpr std::size_t kBroadcastBucketBytes = 250 * 1024 * 1024;  // as in Python's DDP

/// Buckets by size, in the order in which gradients become ready: from the last layer to the first.
/// The very first bucket is small, so that communication begins early.
std::vector<std::vector<std::size_t>> make_buckets(const std::vector<torch::Tensor>& parameters,
                                                   std::size_t cap_bytes) {
  const std::size_t first = std::min<std::size_t>(c10d::kDefaultFirstBucketBytes, cap_bytes);
  auto [buckets, limits] =
      c10d::compute_bucket_assignment_by_size(parameters, {first, cap_bytes}, {}, {}, {});
  std::ranges::reverse(buckets);
  return buckets;
}

}  // namespace

DdpCore::DdpCore(torch::nn::Module& module, const ProcessGroup& group, const DdpOptions& options)
    : group_{group}, options_{options}, buffers_{module.buffers()} {
  std::unordered_map<std::size_t, std::string> names;
  for (const auto& parameter : module.named_parameters()) {
    if (!parameter.value().requires_grad()) continue;
    names[parameters_.size()] = parameter.key();
    parameters_.push_back(parameter.value());
  }
  if (parameters_.empty())
    throw std::invalid_argument{
        "DistributedDataParallel: the module has no parameter that needs a gradient"};

  c10d::verify_params_across_processes(group.c10d_group(), parameters_, {});
  broadcast_from_rank_0(module.parameters());
  broadcast_from_rank_0(buffers_);

  const auto cap_bytes = static_cast<std::size_t>(options.bucket_cap_mb * 1024 * 1024);
  reducer_ = std::make_shared<c10d::Reducer>(
      parameters_, make_buckets(parameters_, cap_bytes), group.c10d_group(),
      std::vector<bool>(parameters_.size(), false), static_cast<std::int64_t>(cap_bytes),
      options.find_unused_parameters, /*gradient_as_bucket_view=*/true, names,
      std::min<std::int64_t>(c10d::kDefaultFirstBucketBytes, static_cast<std::int64_t>(cap_bytes)),
      /*skip_all_reduce_unused_params=*/false, /*use_python_reducer=*/false,
      std::vector<std::int64_t>{});
}

DdpCore::~DdpCore() { reducer_->remove_autograd_hooks(); }

void DdpCore::before_forward() {
  if (!torch::GradMode::is_enabled()) return;
  // After the first backward pass the buckets follow the order in which gradients really came.
  reducer_->rebuild_buckets();
  if (options_.broadcast_buffers) broadcast_from_rank_0(buffers_);
  reducer_->prepare_for_forward();
}

void DdpCore::after_forward(const std::vector<torch::Tensor>& outputs) {
  if (!torch::GradMode::is_enabled()) return;
  reducer_->prepare_for_backward(options_.find_unused_parameters ? outputs
                                                                 : std::vector<torch::Tensor>{});
}

void DdpCore::zero_grad() {
  for (torch::Tensor& parameter : parameters_) parameter.mutable_grad() = torch::Tensor{};
}

void DdpCore::broadcast_from_rank_0(std::vector<torch::Tensor> tensors) {
  if (tensors.empty()) return;
  torch::NoGradGuard no_grad;
  for (torch::Tensor& tensor : tensors) tensor = tensor.detach();
  c10d::broadcast_coalesced(group_.c10d_group(), tensors, kBroadcastBucketBytes, 0);
}

}  // namespace ddprun::sdk
