// JSON as text, in both directions. The parser and the writer of nlohmann/json are templates that
// each unit which calls them compiles again, 50 kB at a time: only this room calls them.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace ddprun {

/// Values that were read. The functions below look at them, for units that include nothing
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

// What is in values of JSON that were read, for units that include only the forward declarations of
// nlohmann/json. nullptr and nullopt say that there is none of that kind; they may be asked
// further.

/// A member of an object.
const nlohmann::json* member(const nlohmann::json* object, std::string_view name);
const nlohmann::json* member(const nlohmann::json& object, std::string_view name);

/// The members of an object, by their names.
std::vector<std::pair<std::string_view, const nlohmann::json*>> members(
    const nlohmann::json* object);

/// The entries of a list; nullopt where it is none.
std::optional<std::vector<const nlohmann::json*>> entries(const nlohmann::json* list);

bool is_object(const nlohmann::json* value);

/// A text, as long as the value lives.
const std::string* text_in(const nlohmann::json* value);
std::optional<bool> bool_in(const nlohmann::json* value);
std::optional<double> number_in(const nlohmann::json* value);
/// A number without a fraction, if 64 bits hold it.
std::optional<std::int64_t> integer_in(const nlohmann::json* value);

/// The text of a member; "": it has none.
std::string text_at(const nlohmann::json* object, std::string_view name);

}  // namespace ddprun
