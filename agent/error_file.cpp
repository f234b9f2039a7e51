#include "agent/error_file.hpp"

#include <fstream>
#include <nlohmann/json.hpp>

namespace ddprun {

namespace {

constexpr std::size_t kErrorFileBytesMax = 1024 * 1024;

}  // namespace

std::optional<RecordedError> parse_error_file(const std::string& text) try {
  const auto json = nlohmann::json::parse(text);
  const auto& message = json.at("message");
  if (message.is_string()) return RecordedError{message.get<std::string>(), ""};
  RecordedError error{message.at("message").get<std::string>(), ""};
  if (message.contains("extraInfo"))
    error.traceback = message["extraInfo"].value("py_callstack", "");
  return error;
} catch (const nlohmann::json::exception&) {
  return std::nullopt;
}

std::optional<RecordedError> read_error_file(const std::filesystem::path& path) {
  std::ifstream file{path, std::ios::binary};
  std::string text(kErrorFileBytesMax, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return parse_error_file(text);
}

}  // namespace ddprun
