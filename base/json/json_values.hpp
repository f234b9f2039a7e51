// What is in values of JSON that were read, for units that include only the forward declarations of
// nlohmann/json. nullptr and nullopt say that there is none of that kind; they may be asked
// further.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ddprun {

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
