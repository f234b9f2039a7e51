#include "worker_sdk/elastic/light_copy.hpp"

namespace ddprun::sdk {

namespace {

std::uint32_t version_of(const torch::Tensor& tensor) {
  return tensor.unsafeGetTensorImpl()->version_counter().current_version();
}

}  // namespace

LightCopy::LightCopy(const std::vector<torch::nn::Module*>& modules) {
  for (torch::nn::Module* const module : modules)
    for (const torch::Tensor& buffer : module->buffers())
      buffers_.push_back({buffer, buffer.detach().clone(), version_of(buffer)});
}

void LightCopy::take() {
  for (Buffer& buffer : buffers_) {
    if (buffer.version == version_of(buffer.tensor)) continue;
    buffer.copy.copy_(buffer.tensor.detach());
    buffer.version = version_of(buffer.tensor);
  }
}

void LightCopy::put_back() {
  for (Buffer& buffer : buffers_) {
    if (buffer.version == version_of(buffer.tensor)) continue;
    buffer.tensor.detach().copy_(buffer.copy);
    buffer.version = version_of(buffer.tensor);
  }
}

}  // namespace ddprun::sdk
