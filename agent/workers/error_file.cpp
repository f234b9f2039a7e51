#include "agent/workers/error_file.hpp"

#include "base/system/whole_file.hpp"

namespace ddprun {

std::optional<RecordedError> read_error_file(const std::filesystem::path& path) {
  const auto text = read_text(path, kErrorFileBytesMax);
  if (!text && text.error().kind == Error::Kind::kInvalid)
    return RecordedError{"(the record is longer than 1 MiB: look into its file)", ""};
  return parse_recorded_error(text ? *text : "");
}

void remove_error_file(const std::filesystem::path& path) {
  std::error_code ignored;  // usually there is none
  std::filesystem::remove(path, ignored);
}

}  // namespace ddprun
