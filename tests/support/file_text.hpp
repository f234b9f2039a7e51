// What a file holds.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace ddprun {

inline std::string content(const std::filesystem::path& path) {
  std::ifstream file{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{file}, {}};
}

}  // namespace ddprun
