#include "ddprun/gradient_clipping.hpp"

#include <cmath>
#include <stdexcept>

#include "worker_sdk/training/tensor_kind.hpp"

namespace ddprun::sdk {

torch::Tensor clip_grad_norm_(const std::vector<torch::Tensor>& parameters, double max_norm,
                              double norm_type, bool error_if_nonfinite) {
  torch::NoGradGuard no_grad;
  ByTensorKind<std::vector<torch::Tensor>> gradients;
  for (const torch::Tensor& parameter : parameters)
    if (parameter.grad().defined())
      gradients[kind_of(parameter.grad())].push_back(parameter.grad());
  if (gradients.empty()) return torch::zeros({});
  const torch::Device device = gradients.begin()->first.first;
  std::vector<torch::Tensor> norms;
  for (const auto& [kind, tensors] : gradients)
    for (const torch::Tensor& norm : at::_foreach_norm(tensors, norm_type))
      norms.push_back(norm.to(device));
  const torch::Tensor total = at::linalg_vector_norm(torch::stack(norms), norm_type);
  if (error_if_nonfinite && !total.isfinite().item<bool>())
    throw std::runtime_error{"clip_grad_norm_: the norm of the gradients is " +
                             std::to_string(total.item<double>())};
  const torch::Tensor factor = torch::clamp_max(max_norm / (total + 1e-6), 1.0);
  for (const auto& [kind, tensors] : gradients) at::_foreach_mul_(tensors, factor.to(kind.first));
  return total;
}

double clip_grad_norm(const std::vector<torch::Tensor>& parameters, double max_norm,
                      const ProcessGroup& shards) {
  torch::NoGradGuard no_grad;
  std::vector<torch::Tensor> gradients;
  for (const torch::Tensor& parameter : parameters)
    if (parameter.grad().defined()) gradients.push_back(parameter.grad());
  torch::Tensor sum = torch::zeros({1}, torch::dtype(torch::kFloat64).device(shards.device()));
  for (const torch::Tensor& gradient : gradients)
    sum += gradient.norm().to(sum.device(), torch::kFloat64).square();
  shards.all_reduce(sum);
  const double norm = std::sqrt(sum.item<double>());
  const double factor = max_norm / (norm + 1e-6);  // 1e-6 as in LibTorch's own
  if (factor < 1 || std::isnan(factor))
    for (torch::Tensor& gradient : gradients) gradient.mul_(factor);
  return norm;
}

}  // namespace ddprun::sdk
