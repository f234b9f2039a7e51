#include "base/json/json_text.hpp"

#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.hpp"

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
  // It quotes what a stranger may have sent, which may be long.
  constexpr std::size_t kShown = 300;
  return invalid(plain_line(cut(e.what(), {kShown})));
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

using nlohmann::json;

const json* member(const json& object, std::string_view name) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(name);
  return found == object.end() ? nullptr : &*found;
}

const json* member(const json* object, std::string_view name) {
  return object == nullptr ? nullptr : member(*object, name);
}

std::vector<std::pair<std::string_view, const json*>> members(const json* object) {
  std::vector<std::pair<std::string_view, const json*>> all;
  if (!is_object(object)) return all;
  for (const auto& [name, value] : object->get_ref<const json::object_t&>())
    all.emplace_back(name, &value);
  return all;
}

std::optional<std::vector<const json*>> entries(const json* list) {
  if (list == nullptr || !list->is_array()) return std::nullopt;
  std::vector<const json*> all;
  for (const json& each : *list) all.push_back(&each);
  return all;
}

bool is_object(const json* value) { return value != nullptr && value->is_object(); }

const std::string* text_in(const json* value) {
  return value == nullptr ? nullptr : value->get_ptr<const std::string*>();
}

std::optional<bool> bool_in(const json* value) {
  if (value == nullptr || !value->is_boolean()) return std::nullopt;
  return value->get<bool>();
}

std::optional<double> number_in(const json* value) {
  if (value == nullptr || !value->is_number()) return std::nullopt;
  return value->get<double>();
}

std::optional<std::int64_t> integer_in(const json* value) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  if (value == nullptr || !value->is_number_integer()) return std::nullopt;
  if (value->is_number_unsigned() && value->get<std::uint64_t>() > kMost) return std::nullopt;
  return value->get<std::int64_t>();
}

std::string text_at(const json* object, std::string_view name) {
  const std::string* text = text_in(member(object, name));
  return text == nullptr ? std::string{} : *text;
}

}  // namespace ddprun
