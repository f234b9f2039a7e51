#include "ddprun/zero_redundancy_optimizer.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <stdexcept>
#include <string>
#include <tuple>

#include "ddprun/optimizer_state.hpp"
#include "worker_sdk/training/gather_tensors.hpp"

namespace ddprun::sdk {

namespace {

constexpr std::int64_t kAlignment =
    64;  // elements; vector instructions are faster on aligned parameters

void require_shardable(const torch::Tensor& parameter, torch::Device device, std::size_t number) {
  const std::string what = "ZeroRedundancyOptimizer: parameter " + std::to_string(number);
  if (parameter.device() != device)
    throw std::invalid_argument{what + " is on " + parameter.device().str() + ", the group on " +
                                device.str() + "; move the module there first"};
  if (!parameter.is_non_overlapping_and_dense())
    throw std::invalid_argument{what + " has strides that leave gaps; make it contiguous"};
}

/// Deals the parameters out, the biggest first, always to the rank that has least so far.
std::vector<int> choose_owners(const std::vector<torch::Tensor>& parameters, int ranks) {
  std::vector<std::size_t> order(parameters.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater{},
                           [&](std::size_t i) { return parameters[i].numel(); });
  std::vector<std::int64_t> load(ranks, 0);
  std::vector<int> owners(parameters.size());
  for (const std::size_t i : order) {
    const auto least = std::ranges::min_element(load);
    owners[i] = static_cast<int>(least - load.begin());
    *least += parameters[i].numel();
  }
  return owners;
}

/// Hides, while it lives, the gradients of the parameters that other ranks own, so that the
/// optimizer passes these parameters over.
class OwnGradientsOnly {
 public:
  OwnGradientsOnly(std::vector<torch::Tensor>& parameters, const std::vector<int>& owners, int rank)
      : parameters_{parameters} {
    for (std::size_t i = 0; i < parameters.size(); ++i)
      if (owners[i] != rank)
        hidden_.emplace_back(i, std::exchange(parameters[i].mutable_grad(), {}));
  }
  ~OwnGradientsOnly() {
    for (auto& [i, gradient] : hidden_) parameters_[i].mutable_grad() = std::move(gradient);
  }
  OwnGradientsOnly(const OwnGradientsOnly&) = delete;
  OwnGradientsOnly& operator=(const OwnGradientsOnly&) = delete;

 private:
  std::vector<torch::Tensor>& parameters_;
  std::vector<std::pair<std::size_t, torch::Tensor>> hidden_;
};

}  // namespace

ZeroRedundancyOptimizer::ZeroRedundancyOptimizer(torch::optim::Optimizer& optimizer,
                                                 const ProcessGroup& group)
    : optimizer_{optimizer}, group_{group} {
  if (dynamic_cast<const torch::optim::LBFGS*>(&optimizer) != nullptr)
    throw std::invalid_argument{
        "ZeroRedundancyOptimizer: the state of LBFGS is one for all parameters and cannot be "
        "split; use it as it is"};
  for (const auto& param_group : optimizer.param_groups())
    parameters_.insert(parameters_.end(), param_group.params().begin(), param_group.params().end());
  for (std::size_t i = 0; i < parameters_.size(); ++i)
    require_shardable(parameters_[i], group.device(), i);
  owners_ = choose_owners(parameters_, group.size());
  own_count_ = std::ranges::count(owners_, group.rank());
  make_shards();
  drop_others_state();  // Adagrad has all its state from the start
}

void ZeroRedundancyOptimizer::make_shards() {
  std::map<std::pair<int, torch::ScalarType>, std::vector<std::size_t>> members;
  for (std::size_t i = 0; i < parameters_.size(); ++i)
    members[{owners_[i], parameters_[i].scalar_type()}].push_back(i);
  for (const auto& [key, numbers] : members) shards_.push_back(make_shard(key.first, numbers));
}

ZeroRedundancyOptimizer::Shard ZeroRedundancyOptimizer::make_shard(
    int owner, const std::vector<std::size_t>& members) {
  torch::NoGradGuard no_grad;
  const auto room = [&](std::size_t i) {
    return (parameters_[i].numel() + kAlignment - 1) / kAlignment * kAlignment;
  };
  std::int64_t size = 0;
  for (const std::size_t i : members) size += room(i);
  Shard shard{owner, torch::zeros({size}, parameters_[members.front()].options())};
  std::int64_t offset = 0;
  for (const std::size_t i : members) {
    torch::Tensor& parameter = parameters_[i];
    const auto place = shard.flat.as_strided(parameter.sizes(), parameter.strides(), offset);
    place.copy_(parameter);
    parameter.set_data(place);
    offset += room(i);
  }
  return shard;
}

void ZeroRedundancyOptimizer::step() {
  drop_others_state();
  {
    const OwnGradientsOnly own{parameters_, owners_, group_.rank()};
    optimizer_.step();
  }
  std::vector<Work> works;
  for (const Shard& shard : shards_)
    works.push_back(group_.broadcast_async(shard.flat, shard.owner));
  wait_all(works);
}

void ZeroRedundancyOptimizer::drop_others_state() {
  if (optimizer_.state().size() <= own_count_) return;
  for (std::size_t i = 0; i < parameters_.size(); ++i)
    if (owners_[i] != group_.rank()) optimizer_.state().erase(parameters_[i].unsafeGetTensorImpl());
}

void ZeroRedundancyOptimizer::consolidate(int to) {
  drop_others_state();
  const NamedTensors own = optimizer_state(optimizer_);
  // All of it would not fit on the GPU: that is why it is sharded.
  for (const NamedTensors& other : gather_tensors(own, group_, to))
    restore_optimizer_state(optimizer_, other, torch::kCPU);
}

}  // namespace ddprun::sdk
