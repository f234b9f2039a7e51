#include "ddprun/sync_batch_norm.hpp"

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace ddprun::sdk {

namespace {

using torch::Tensor;

/// The values of each channel: how many, [1], their mean and variance, [C].
struct Moments {
  Tensor count, mean, variance;
};

torch::ScalarType type_of_statistics(const Tensor& input) {
  return input.scalar_type() == torch::kFloat64 ? torch::kFloat64 : torch::kFloat32;
}

Moments moments_of(const Tensor& input) {
  const std::int64_t channels = input.size(1);
  const auto count = static_cast<double>(input.numel() / channels);
  const Tensor counted = torch::full({1}, count, input.options());
  if (input.numel() == 0) {
    const Tensor nothing = torch::zeros({channels}, input.options());
    return {counted, nothing, nothing};
  }
  const auto [mean, variance] = at::batch_norm_update_stats(input, {}, {}, 0);
  return {counted, mean, variance};
}

/// The moments of all ranks' values together: a mean of the means, and a variance that has the
/// spread of the means in it (https://en.wikipedia.org/wiki/Algorithms_for_calculating_variance).
Moments moments_of_all(const Moments& own, const ProcessGroup& group) {
  const std::int64_t channels = own.mean.numel();
  const auto parts = torch::stack(group.all_gather(torch::cat({own.count, own.mean, own.variance})))
                         .split_with_sizes({1, channels, channels}, 1);
  // Ranks without values count nothing; if all are, there is still no division by zero.
  const Tensor total = parts[0].sum(0);
  const Tensor share = parts[0] / total.clamp_min(1);
  const Tensor mean = (share * parts[1]).sum(0);
  return {total, mean, (share * (parts[2] + (parts[1] - mean).square())).sum(0)};
}

/// [C] as it is multiplied with [N, C, ...].
Tensor by_channel(const Tensor& values, const Tensor& like) {
  std::vector<std::int64_t> shape(like.dim(), 1);
  shape[1] = -1;
  return values.view(shape);
}

Tensor sum_by_channel(const Tensor& values) {
  std::vector<std::int64_t> others{0};
  for (std::int64_t i = 2; i < values.dim(); ++i) others.push_back(i);
  return values.sum(others);
}

struct Peers : torch::CustomClassHolder {
  explicit Peers(const ProcessGroup& all) : group{all} {}
  ProcessGroup group;
};

/// Normalizes by given moments, which depend on the inputs of all ranks, as its gradient knows.
struct Normalize : torch::autograd::Function<Normalize> {
  static Tensor forward(torch::autograd::AutogradContext* context, const Tensor& input,
                        const std::optional<Tensor>& weight, const std::optional<Tensor>& bias,
                        const Moments& moments, double eps,
                        const c10::intrusive_ptr<Peers>& peers) {
    context->save_for_backward(
        {input, weight.value_or(Tensor{}), moments.count, moments.mean, moments.variance});
    context->saved_data["eps"] = eps;
    context->saved_data["peers"] = torch::IValue::make_capsule(peers);
    const auto type = moments.mean.scalar_type();
    const auto cast = [&](const auto& one) { return one ? std::optional{one->to(type)} : one; };
    return torch::batch_norm(input.to(type), cast(weight), cast(bias), moments.mean,
                             moments.variance, /*training=*/false, /*momentum=*/0, eps,
                             /*cudnn_enabled=*/false)
        .to(input.scalar_type());
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const Tensor input = saved[0], weight = saved[1], count = saved[2], mean = saved[3];
    const Tensor scale = torch::rsqrt(saved[4] + context->saved_data["eps"].toDouble());
    const Tensor gradient = gradients[0].to(mean.scalar_type());
    const Tensor centered = input.to(mean.scalar_type()) - by_channel(mean, input);
    const Tensor sum = sum_by_channel(gradient);
    const Tensor product =
        sum_by_channel(gradient * centered) * scale;  // with the normalized input
    torch::autograd::variable_list result(6);
    if (weight.defined()) {
      result[1] = product.to(weight.scalar_type());
      result[2] = sum.to(weight.scalar_type());
    }
    if (!context->needs_input_grad(0)) return result;
    const auto peers = context->saved_data["peers"].toCapsule();
    const Tensor both = torch::stack({sum, product});
    static_cast<const Peers&>(*peers).group.all_reduce(both);
    const auto means = (both / count.clamp_min(1)).unbind();
    const Tensor slope = by_channel(means[1] * scale, input);
    const Tensor factor = weight.defined() ? scale * weight.to(scale.scalar_type()) : scale;
    result[0] = (gradient - by_channel(means[0], input))
                    .sub_(centered * slope)
                    .mul_(by_channel(factor, input))
                    .to(input.scalar_type());
    return result;
  }
};

}  // namespace

SyncBatchNormImpl::SyncBatchNormImpl(const torch::nn::BatchNormOptions& chosen,
                                     const ProcessGroup& group)
    : NormImplBase{chosen}, group_{group} {}

void SyncBatchNormImpl::_check_input_dim(const Tensor& input) {
  if (input.dim() < 2 || input.size(1) != options.num_features())
    throw std::invalid_argument{"SyncBatchNorm: the input is " + c10::str(input.sizes()) +
                                ", expected [N, " + std::to_string(options.num_features()) +
                                ", ...]"};
}

/// Returns how much a new batch counts in the running statistics.
double SyncBatchNormImpl::count_batch() {
  num_batches_tracked += 1;
  if (options.momentum()) return *options.momentum();
  return 1 / num_batches_tracked.item<double>();
}

Tensor SyncBatchNormImpl::forward(const Tensor& input) {
  _check_input_dim(input);
  const bool tracks = options.track_running_stats();
  const double momentum = is_training() && tracks ? count_batch() : 0;
  if (is_training() && group_.size() > 1) return normalize(input, momentum);
  return torch::nn::functional::detail::batch_norm(input, running_mean, running_var, weight, bias,
                                                   is_training() || !tracks, momentum,
                                                   options.eps());
}

Tensor SyncBatchNormImpl::normalize(const Tensor& input, double momentum) {
  Moments moments;
  {
    torch::NoGradGuard no_grad;
    moments = moments_of_all(moments_of(input.detach().to(type_of_statistics(input))), group_);
    if (options.track_running_stats()) {
      // The running variance is the unbiased one, as everywhere in PyTorch.
      const Tensor unbiased = moments.variance * moments.count / (moments.count - 1).clamp_min(1);
      running_mean.lerp_(moments.mean.to(running_mean.scalar_type()), momentum);
      running_var.lerp_(unbiased.to(running_var.scalar_type()), momentum);
    }
  }
  std::optional<Tensor> factor, summand;
  if (options.affine()) {
    factor = weight;
    summand = bias;
  }
  return Normalize::apply(input, factor, summand, moments, options.eps(),
                          c10::make_intrusive<Peers>(group_));
}

void SyncBatchNormImpl::pretty_print(std::ostream& stream) const {
  stream << "ddprun::sdk::SyncBatchNorm(" << options.num_features() << ", eps=" << options.eps()
         << ", ranks=" << group_.size() << ')';
}

}  // namespace ddprun::sdk
