#include "agent/error_file.hpp"

#include <fstream>
#include <string>

namespace ddprun {

namespace {

constexpr std::size_t kErrorFileBytesMax = 1024 * 1024;

}  // namespace

std::optional<RecordedError> read_error_file(const std::filesystem::path& path) {
  std::ifstream file{path, std::ios::binary};
  std::string text(kErrorFileBytesMax, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return parse_recorded_error(text);
}

}  // namespace ddprun
