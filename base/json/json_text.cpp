#include "base/json/json_text.hpp"

#include <nlohmann/json.hpp>
#include <utility>

namespace ddprun {

namespace {

template <typename Json>
std::string text_of(const Json& value, JsonStyle style) {
  const int indent = style == JsonStyle::kIndented ? 2 : -1;
  return value.dump(indent, ' ', style == JsonStyle::kAscii, Json::error_handler_t::replace);
}

}  // namespace

ParsedJson::ParsedJson(nlohmann::json&& root)
    : root_{std::make_shared<const nlohmann::json>(std::move(root))} {}

Result<ParsedJson> parse_json(std::string_view text) try {
  return ParsedJson{nlohmann::json::parse(text)};
} catch (const nlohmann::json::exception& e) {
  return invalid(e.what());
}

ParsedJson json_or_null(std::string_view text) {
  auto value = nlohmann::json::parse(text, nullptr, false);
  return ParsedJson{value.is_discarded() ? nlohmann::json{} : std::move(value)};
}

std::string json_text(const nlohmann::json& value, JsonStyle style) {
  return text_of(value, style);
}

std::string json_text(const nlohmann::ordered_json& value, JsonStyle style) {
  return text_of(value, style);
}

Result<std::string> strict_json_text(const nlohmann::json& value) try {
  return value.dump();
} catch (const nlohmann::json::type_error& e) {
  return invalid(e.what());
}

}  // namespace ddprun
