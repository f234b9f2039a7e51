#include "agent/workers/recorded_error.hpp"

#include <nlohmann/json.hpp>

namespace ddprun {

std::optional<RecordedError> parse_recorded_error(const std::string& text) try {
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

}  // namespace ddprun
