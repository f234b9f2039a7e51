#include "ddprun/batch_tensors.hpp"

#include <c10/core/impl/VirtualGuardImpl.h>

namespace ddprun::sdk {

std::optional<torch::Device> current_gpu() {
  if (!torch::cuda::is_available()) return std::nullopt;
  return c10::impl::VirtualGuardImpl{torch::kCUDA}.getDevice();
}

void use_gpu(const std::optional<torch::Device>& gpu) {
  if (gpu) c10::impl::VirtualGuardImpl{gpu->type()}.setDevice(*gpu);
}

void pin(torch::Tensor& tensor) {
  if (tensor.defined() && tensor.is_cpu()) tensor = tensor.pin_memory();
}

}  // namespace ddprun::sdk
