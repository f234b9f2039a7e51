#include "base/own_process.hpp"

#include <unistd.h>

#include <filesystem>

namespace ddprun {

std::vector<std::string> own_environment() {
  std::vector<std::string> entries;
  for (char** entry = environ; *entry != nullptr; ++entry) entries.emplace_back(*entry);
  return entries;
}

std::string own_path() {
  std::error_code not_mounted;
  return std::filesystem::read_symlink("/proc/self/exe", not_mounted).string();
}

std::string host_name() {
  std::string name(256, '\0');
  gethostname(name.data(), name.size() - 1);
  name.resize(name.find('\0'));
  return name;
}

}  // namespace ddprun
