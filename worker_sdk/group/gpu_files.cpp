#include "worker_sdk/group/gpu_files.hpp"

#include <algorithm>
#include <system_error>

#include "worker_sdk/contract/visible_devices.hpp"

namespace ddprun::sdk {

namespace {

bool is_number(const std::string& text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

int gpus_in(const std::filesystem::path& devices) {
  const std::string prefix = "nvidia";
  int count = 0;
  std::error_code none;
  for (const auto& file : std::filesystem::directory_iterator{devices, none}) {
    const std::string name = file.path().filename();
    if (name.starts_with(prefix) && is_number(name.substr(prefix.size()))) ++count;
  }
  return count;
}

}  // namespace

bool has_initialised_cuda(const std::filesystem::path& files) {
  std::error_code gone;
  for (const auto& file : std::filesystem::directory_iterator{files, gone})
    if (std::filesystem::read_symlink(file.path(), gone) == "/dev/nvidiactl") return true;
  return false;
}

bool has_gpu_driver() {
  std::error_code unknown;
  return std::filesystem::exists("/dev/nvidiactl", unknown);
}

int count_gpus(const std::filesystem::path& devices, const std::optional<std::string>& chosen) {
  const int there = gpus_in(devices);
  if (!chosen || there == 0) return there;
  return static_cast<int>(visible_devices(*chosen, there).size());
}

}  // namespace ddprun::sdk
