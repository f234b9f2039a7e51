#include "ddprun/gradient_clipping.hpp"

#include <cmath>

namespace ddprun::sdk {

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
