#include "ddprun/data_parallel.hpp"

#include <stdexcept>
#include <string>

namespace ddprun::sdk {

namespace {

[[noreturn]] void refuse(const std::string& reason) {
  throw std::invalid_argument{"data_parallel: " + reason};
}

void check_place(const std::string& what, const torch::Tensor& tensor, torch::Device expected) {
  if (tensor.device() != expected)
    refuse(what + " is on " + tensor.device().str() + ", expected " + expected.str() +
           ", the first device; call module->to() first");
}

}  // namespace

std::vector<torch::Device> data_parallel_devices(const torch::nn::Module& module,
                                                 const torch::Tensor& input,
                                                 const DataParallelOptions& options) {
  std::vector<torch::Device> devices = options.devices;
  if (devices.empty())
    for (torch::DeviceIndex i = 0; i < static_cast<int>(torch::cuda::device_count()); ++i)
      devices.emplace_back(torch::kCUDA, i);
  if (devices.empty()) refuse("this process sees no GPU; name the devices, {cpu, cpu} for one");
  for (const auto& item : module.named_parameters())
    check_place("parameter '" + item.key() + "'", item.value(), devices.front());
  for (const auto& item : module.named_buffers())
    check_place("buffer '" + item.key() + "'", item.value(), devices.front());
  if (options.dim < 0 || options.dim >= input.dim())
    refuse("dim is " + std::to_string(options.dim) + ", but the input has the shape " +
           c10::str(input.sizes()));
  if (input.size(options.dim) == 0)
    refuse("the input, of the shape " + c10::str(input.sizes()) + ", is empty");
  return devices;
}

}  // namespace ddprun::sdk
