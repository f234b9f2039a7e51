#include "launcher/settings/gpus.hpp"

#include <algorithm>

#include "base/machine/devices.hpp"
#include "worker_sdk/contract/visible_devices.hpp"

namespace ddprun {

namespace {

constexpr char kCudaList[] = "CUDA_VISIBLE_DEVICES";

}  // namespace

std::vector<int> visible_indices(const EnvironmentLookup& environment, int present) {
  std::vector<int> indices;
  if (const auto list = environment(kCudaList)) {
    for (const std::string& device : sdk::visible_devices(*list, present))
      if (const auto index = sdk::device_index(device)) indices.push_back(*index);
    return indices;
  }
  for (int index = 0; index < present; ++index) indices.push_back(index);
  return indices;
}

std::optional<std::vector<std::string>> listed_gpus(const EnvironmentLookup& environment) {
  const auto list = environment(kCudaList);
  return list ? std::optional{sdk::visible_devices(*list)} : std::nullopt;
}

int visible_gpus(const EnvironmentLookup& environment) {
  const int present = count_gpus();
  int visible = present;
  for (const char* variable : {kCudaList, "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"})
    if (const auto list = environment(variable))
      visible = std::min(visible, static_cast<int>(sdk::visible_devices(*list, present).size()));
  return visible;
}

}  // namespace ddprun
