#include "launcher/settings/gpus.hpp"

#include <algorithm>
#include <cctype>
#include <sstream>

#include "base/system/whole_file.hpp"
#include "worker_sdk/contract/visible_devices.hpp"

namespace ddprun {

namespace {

namespace fs = std::filesystem;

constexpr char kCudaList[] = "CUDA_VISIBLE_DEVICES";

bool is_number(std::string_view text) {
  return !text.empty() &&
         std::ranges::all_of(text, [](unsigned char c) { return std::isdigit(c) != 0; });
}

int nvidia_gpus(const fs::path& dev) {
  int count = 0;
  std::error_code unreadable;
  for (const auto& entry : fs::directory_iterator{dev, unreadable}) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("nvidia") && is_number(std::string_view{name}.substr(6))) ++count;
  }
  return count;
}

/// CPUs are nodes of the same list and have no SIMDs
/// (https://docs.kernel.org/gpu/amdgpu/driver-core.html).
int amd_gpus(const fs::path& sys) {
  int count = 0;
  std::error_code unreadable;
  for (const auto& node :
       fs::directory_iterator{sys / "class/kfd/kfd/topology/nodes", unreadable}) {
    std::istringstream properties{text_if_any(node.path() / "properties")};
    for (std::string name, value; properties >> name >> value;)
      if (name == "simd_count" && value != "0") ++count;
  }
  return count;
}

}  // namespace

int count_gpus(const fs::path& dev, const fs::path& sys) {
  const int nvidia = nvidia_gpus(dev);
  return nvidia > 0 ? nvidia : amd_gpus(sys);
}

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
