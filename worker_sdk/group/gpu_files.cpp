#include "worker_sdk/group/gpu_files.hpp"

#include <algorithm>
#include <charconv>
#include <sstream>
#include <system_error>

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

bool names_gpu(const std::string& entry, int there) {
  if (entry.starts_with("GPU-") || entry.starts_with("MIG-")) return true;
  int number = 0;
  return is_number(entry) &&
         std::from_chars(entry.data(), entry.data() + entry.size(), number).ec == std::errc{} &&
         number < there;
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
  if (!chosen) return there;
  int count = 0;
  std::istringstream list{*chosen};
  for (std::string entry; std::getline(list, entry, ',') && names_gpu(entry, there);) ++count;
  return there == 0 ? 0 : count;
}

}  // namespace ddprun::sdk
