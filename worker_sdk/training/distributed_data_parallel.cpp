#include "ddprun/distributed_data_parallel.hpp"

#include <torch/csrc/autograd/engine.h>

#include <algorithm>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <torch/csrc/distributed/c10d/comm.hpp>
#include <torch/csrc/distributed/c10d/reducer.hpp>
#include <unordered_map>
#include <unordered_set>

#include "ddprun/sync_batch_norm.hpp"
#include "worker_sdk/group/waits.hpp"
#include "worker_sdk/training/comm_hooks.hpp"
#include "worker_sdk/training/same_parameters.hpp"

namespace ddprun::sdk {

namespace {

constexpr std::size_t kBroadcastBucketBytes = 250 * 1024 * 1024;  // as in Python's DDP

std::size_t bucket_cap_bytes(const DdpOptions& options) {
  if (!(options.bucket_cap_mb > 0))
    throw std::invalid_argument{"DistributedDataParallel: bucket_cap_mb is " +
                                std::to_string(options.bucket_cap_mb) + ", expected more than 0"};
  return static_cast<std::size_t>(std::max(1.0, options.bucket_cap_mb * 1024 * 1024));
}

std::size_t first_bucket_bytes(std::size_t cap_bytes) {
  return std::min<std::size_t>(c10d::kDefaultFirstBucketBytes, cap_bytes);
}

/// Deals the parameters out into buckets by size, in the order in which gradients become ready:
/// from the last layer to the first.
std::vector<std::vector<std::size_t>> make_buckets(const std::vector<torch::Tensor>& parameters,
                                                   const std::vector<bool>& is_sparse,
                                                   std::size_t cap_bytes) {
  auto [buckets, limits] = c10d::compute_bucket_assignment_by_size(
      parameters, {first_bucket_bytes(cap_bytes), cap_bytes}, is_sparse, {}, {});
  std::ranges::reverse(buckets);
  return buckets;
}

/// Tells for each of `parameters` whether its gradient is a sparse tensor.
std::vector<bool> sparse_gradients(const torch::nn::Module& module,
                                   const std::vector<torch::Tensor>& parameters) {
  std::unordered_set<const void*> sparse;
  for (const auto& part : module.modules()) {
    if (const auto* one = part->as<torch::nn::EmbeddingImpl>(); one && one->options.sparse())
      sparse.insert(one->weight.unsafeGetTensorImpl());
    if (const auto* bag = part->as<torch::nn::EmbeddingBagImpl>(); bag && bag->options.sparse())
      sparse.insert(bag->weight.unsafeGetTensorImpl());
  }
  std::vector<bool> result;
  for (const torch::Tensor& parameter : parameters)
    result.push_back(sparse.contains(parameter.unsafeGetTensorImpl()));
  return result;
}

/// A tensor under two names would be reduced twice, and the optimizer would update it twice.
void refuse_duplicates(const torch::nn::Module& module) {
  std::unordered_map<const void*, std::string> names;
  for (const auto& one : module.named_parameters()) {
    const auto [known, is_new] = names.emplace(one.value().unsafeGetTensorImpl(), one.key());
    if (!is_new)
      throw std::invalid_argument{
          "DistributedDataParallel: the parameters '" + known->second + "' and '" + one.key() +
          "' are one tensor, which would be trained twice: register it once, and use it "
          "twice in forward(), as torch::linear(x, weight)"};
  }
}

/// NCCL throws in the backward pass of the first step.
void refuse_sparse(const ProcessGroup& group, const std::vector<torch::Tensor>& parameters,
                   const std::vector<std::string>& names, const std::vector<bool>& is_sparse) {
  for (std::size_t i = 0; i < parameters.size(); ++i)
    if (is_sparse[i] && parameters[i].is_cuda() && group.backend() == "nccl")
      throw std::invalid_argument{
          "DistributedDataParallel: the gradient of '" + names[i] +
          "' is sparse, which NCCL cannot reduce: use gloo, or an Embedding "
          "without sparse(true)"};
}

/// Puts names behind the numbers with which the Reducer tells of parameters that got no gradient:
/// "Parameter indices which did not receive grad for rank 0: 1 3".
std::string with_names(const std::string& text, const std::vector<std::string>& names) {
  constexpr std::string_view kBefore = "did not receive grad for rank ";
  const std::size_t at = text.find(kBefore);
  if (at == std::string::npos) return text;
  std::istringstream numbers{text.substr(text.find(':', at) + 1)};
  std::string list;
  for (std::size_t number = 0; numbers >> number && number < names.size();)
    list += (list.empty() ? "" : ", ") + names[number];
  return list.empty() ? text : text + "\nThese are " + list;
}

}  // namespace

/// Whether the first step of a static graph is still to come. Its gradients are reduced after the
/// whole backward pass, because only then is it known how often each parameter is used.
struct DdpCore::FirstStep : torch::CustomClassHolder {
  std::weak_ptr<c10d::Reducer> reducer;
  bool pending = false;
};

/// A function between the module's outputs and the loss, which passes on what it gets. In the
/// backward pass it leaves a gradient undefined if the loss does not use that output: autograd
/// would make zeros of it, and unused parameters would look used.
struct DdpCore::Sink : torch::autograd::Function<Sink> {
  static torch::autograd::variable_list forward(torch::autograd::AutogradContext* context,
                                                const c10::intrusive_ptr<FirstStep>& first_step,
                                                at::TensorList outputs) {
    context->set_materialize_grads(false);
    context->saved_data["first_step"] = torch::IValue::make_capsule(first_step);
    torch::autograd::variable_list passed;
    for (const torch::Tensor& output : outputs) passed.push_back(output.clone());
    return passed;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const auto holder = context->saved_data["first_step"].toCapsule();
    auto& first_step = static_cast<FirstStep&>(*holder);
    if (std::exchange(first_step.pending, false)) {
      torch::autograd::Engine::get_default_engine().queue_callback([weak = first_step.reducer] {
        if (const auto reducer = weak.lock()) reducer->delay_all_reduce();
      });
    }
    gradients.insert(gradients.begin(), torch::Tensor{});  // `first_step` has no gradient
    return gradients;
  }
};

void Reductions::require_done() const {
  for (const DdpCore* core : cores_) core->require_reduced();
}

DdpCore::DdpCore(torch::nn::Module& module, const ProcessGroup& group, const DdpOptions& options,
                 std::shared_ptr<Reductions> reductions)
    : group_{group}, options_{options}, buffers_{module.buffers()} {
  for (const auto& parameter : module.named_parameters()) {
    if (!parameter.value().requires_grad()) continue;
    parameters_.push_back(parameter.value());
    names_.push_back(parameter.key());
  }
  for (const auto& part : module.modules())
    has_sync_batch_norm_ |= part->as<SyncBatchNormImpl>() != nullptr;
  check_same_parameters(module, group);
  refuse_duplicates(module);
  if (parameters_.empty())
    throw std::invalid_argument{
        "DistributedDataParallel: the module has no parameter that needs a gradient"};
  broadcast_from(0, module.parameters());
  broadcast_from(0, buffers_);
  reducer_ = make_reducer(module);
  if (auto hook = make_comm_hook(options_, group_)) reducer_->register_comm_hook(std::move(hook));
  first_step_ = c10::make_intrusive<FirstStep>();
  if (options_.static_graph) {
    reducer_->set_static_graph();
    first_step_->reducer = reducer_;
    first_step_->pending = true;
  }
  reductions_ = std::move(reductions);
  if (reductions_) reductions_->add(*this);
}

DdpCore::~DdpCore() {
  if (reductions_) reductions_->remove(*this);
  if (reducer_) reducer_->remove_autograd_hooks();
}

std::shared_ptr<c10d::Reducer> DdpCore::make_reducer(const torch::nn::Module& module) const {
  std::unordered_map<std::size_t, std::string> names;
  for (const std::string& name : names_) names.emplace(names.size(), name);
  const std::size_t cap_bytes = bucket_cap_bytes(options_);
  const std::vector<bool> is_sparse = sparse_gradients(module, parameters_);
  refuse_sparse(group_, parameters_, names_, is_sparse);
  if (options_.comm_hook != CommHook::kAllReduce &&
      std::ranges::find(is_sparse, true) != is_sparse.end())
    throw std::invalid_argument{
        "DistributedDataParallel: comm_hook takes no sparse gradients: use an Embedding without "
        "sparse(true)"};
  return std::make_shared<c10d::Reducer>(
      parameters_, make_buckets(parameters_, is_sparse, cap_bytes), group_.c10d_group(), is_sparse,
      static_cast<std::int64_t>(cap_bytes), options_.find_unused_parameters,
      options_.gradient_as_bucket_view, names,
      static_cast<std::int64_t>(first_bucket_bytes(cap_bytes)),
      /*skip_all_reduce_unused_params=*/false, /*use_python_reducer=*/false,
      std::vector<std::int64_t>{});
}

/// After the first backward pass the buckets follow the order in which gradients really came.
/// Errors: std::runtime_error when the step before was not finished.
void DdpCore::rebuild_buckets() try { reducer_->rebuild_buckets(); } catch (const c10::Error& e) {
  explain_unfinished(e);
}

void DdpCore::explain_unfinished(const c10::Error& error) const {
  const std::string text = error.what_without_backtrace();
  if (text.find("Expected to have finished reduction") == std::string::npos) throw error;
  throw std::runtime_error{"DistributedDataParallel: " + with_names(text, names_)};
}

void DdpCore::require_reduced() const try {
  if (in_forward_)
    throw std::runtime_error{"DistributedDataParallel: the forward pass of this step has failed"};
  reducer_->check_finalized();
  reduces_.reset();
} catch (const c10::Error& e) {
  explain_unfinished(e);
}

void DdpCore::before_forward() {
  reduces_.reset();
  const Wait wait;
  const bool trains = torch::GradMode::is_enabled();
  in_forward_ = trains;
  if (trains && sync_gradients_) reducer_->prepare_for_forward();
  if (join_) announce_forward();
  if (trains) rebuild_buckets();
  if (broadcasts_buffers()) broadcast_from(join_ ? greatest_rank(true) : 0, buffers_);
  if (join_) announce_backward();
}

bool DdpCore::broadcasts_buffers() const {
  return options_.broadcast_buffers && sync_buffers_ && !buffers_.empty();
}

void DdpCore::after_forward(const TensorRefs& outputs) {
  in_forward_ = false;
  sync_buffers_ = torch::GradMode::is_enabled() && sync_gradients_;
  const bool search = options_.find_unused_parameters && !options_.static_graph;
  if (sync_buffers_) {
    reduces_ = std::make_shared<Wait>();
    reducer_->prepare_for_backward(search
                                       ? std::vector<torch::Tensor>(outputs.begin(), outputs.end())
                                       : std::vector<torch::Tensor>{});
  }
  if (!search && !first_step_->pending) return;

  TensorRefs differentiable;  // the function would make the others so, too
  std::ranges::copy_if(outputs, std::back_inserter(differentiable),
                       [](const torch::Tensor& output) { return output.grad_fn() != nullptr; });
  const std::vector<torch::Tensor> before(differentiable.begin(), differentiable.end());
  const auto passed = Sink::apply(first_step_, at::TensorList{before});
  for (std::size_t i = 0; i < passed.size(); ++i) differentiable[i].get() = passed[i];
}

void DdpCore::reduce_in_next_backward() {
  if (options_.find_unused_parameters || options_.static_graph)
    throw std::logic_error{
        "DistributedDataParallel: reduce_in_next_backward() needs a step in which all parameters "
        "are used: neither find_unused_parameters nor static_graph"};
  if (join_)
    throw std::logic_error{
        "DistributedDataParallel: reduce_in_next_backward() within join(): the ranks that have "
        "returned cannot know of it"};
  sync_buffers_ = true;
  reducer_->prepare_for_forward();
  reducer_->prepare_for_backward({});
}

void DdpCore::zero_grad() {
  for (torch::Tensor& parameter : parameters_) parameter.mutable_grad() = torch::Tensor{};
}

void DdpCore::broadcast_from(int root, std::vector<torch::Tensor> tensors) const {
  if (tensors.empty()) return;
  torch::NoGradGuard no_grad;
  for (torch::Tensor& tensor : tensors) tensor = tensor.detach();
  c10d::broadcast_coalesced(group_.c10d_group(), tensors, kBroadcastBucketBytes, root);
}

}  // namespace ddprun::sdk
