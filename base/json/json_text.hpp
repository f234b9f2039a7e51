// JSON as text, in both directions. The parser and the writer of nlohmann/json are templates that
// each unit which calls them compiles again, 50 kB at a time: only this room calls them.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace ddprun {

/// Values that were read. With json_values.hpp they can be looked at by units that include nothing
/// of nlohmann/json but its forward declarations, which saves 1.5 s of compilation for each.
class ParsedJson {
 public:
  explicit ParsedJson(nlohmann::json&& root);
  const nlohmann::json& operator*() const { return *root_; }

 private:
  std::shared_ptr<const nlohmann::json> root_;
};

/// Reads JSON. Errors: kInvalid, with what the parser says of the place.
Result<ParsedJson> parse_json(std::string_view text);

/// Reads JSON; what is none becomes null.
ParsedJson json_or_null(std::string_view text);

/// How JSON is written. Bytes that are no UTF-8 become U+FFFD.
enum class JsonStyle {
  kLine,      // one line, without a newline
  kAscii,     // one line, with \u... for what is not ASCII
  kIndented,  // many lines, each level two blanks further in
};
std::string json_text(const nlohmann::json& value, JsonStyle style = JsonStyle::kLine);
std::string json_text(const nlohmann::ordered_json& value, JsonStyle style = JsonStyle::kLine);

/// Writes JSON in one line. Errors: kInvalid, when a text in it is no UTF-8.
Result<std::string> strict_json_text(const nlohmann::json& value);

}  // namespace ddprun
