#include "worker_sdk/elastic/light_copy.hpp"

namespace ddprun::sdk {

LightCopy::LightCopy(const std::vector<torch::nn::Module*>& modules) {
  for (torch::nn::Module* const module : modules)
    for (const torch::Tensor& buffer : module->buffers()) {
      buffers_.push_back(buffer.detach());
      copies_.push_back(buffers_.back().clone());
    }
}

void LightCopy::take() {
  if (!buffers_.empty()) at::_foreach_copy_(copies_, buffers_);
}

void LightCopy::put_back() {
  if (!buffers_.empty()) at::_foreach_copy_(buffers_, copies_);
}

}  // namespace ddprun::sdk
