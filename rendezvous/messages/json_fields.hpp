// How a struct becomes a JSON object and is read back. A table, kFields<Struct>, names its members;
// every text in it has a limit, so that the longest line that a struct can make is known when it is
// compiled: see longest<Struct>().
//
// nlohmann/json's own conversions do not do here: they cut 4294967298 down to the int 2, take 2.7
// for 2, and an unknown name for the first value of an enum.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/cut_text.hpp"

namespace ddprun::fields {

using nlohmann::json;

/// A member and its name in JSON. Texts are cut to `limit` when they are written.
template <typename Struct, typename Value>
struct Field {
  std::string_view name;
  Value Struct::*member;
  TextLimit limit;
  std::size_t count_max = 1;  // for texts and structs: more than that are not written
  bool if_known = false;      // not written while it is negative
};

/// The table of a struct: a std::tuple of what field(), text() and texts() return. It is a
/// specialization; a struct without one does not compile.
template <typename Struct>
inline constexpr std::nullptr_t kFields = nullptr;

/// The names of an enum's values: a std::array of Named<Enum>. Clang 14 cannot deduce the argument.
template <typename Enum>
struct Named {
  Enum value;
  std::string_view name;
};
template <typename Enum>
inline constexpr std::nullptr_t kNames = nullptr;

/// The name of an enum's value.
template <typename Enum>
constexpr std::string_view name_of(Enum value) {
  for (const auto& named : kNames<Enum>)
    if (named.value == value) return named.name;
  return "";
}

/// A member that holds no text by itself: a number, a bool, an enum, or another struct.
template <typename Struct, typename Value>
constexpr Field<Struct, Value> field(std::string_view name, Value Struct::*member) {
  static_assert(!std::is_same_v<Value, std::string>, "a text needs a limit: text()");
  return {name, member, {}};
}

/// A text, cut to `limit`.
template <typename Struct>
constexpr Field<Struct, std::string> text(std::string_view name, std::string Struct::*member,
                                          TextLimit limit) {
  return {name, member, limit};
}

/// Texts, each cut to `limit`, of which the last `count_max` are written.
template <typename Struct>
constexpr Field<Struct, std::vector<std::string>> texts(std::string_view name,
                                                        std::vector<std::string> Struct::*member,
                                                        TextLimit limit, std::size_t count_max) {
  return {name, member, limit, count_max};
}

/// Texts by name, each cut to `limit`.
using TextMap = std::map<std::string, std::string>;
template <typename Struct>
constexpr Field<Struct, TextMap> texts(std::string_view name, TextMap Struct::*member,
                                       TextLimit limit, std::size_t count_max) {
  return {name, member, limit, count_max};
}

/// Structs that have a table themselves, of which the first `count_max` are written, and read.
template <typename Struct, typename Each>
constexpr Field<Struct, std::vector<Each>> list(std::string_view name,
                                                std::vector<Each> Struct::*member,
                                                std::size_t count_max) {
  return {name, member, {}, count_max};
}

/// A number that is left out while it is negative, which stands for "not known".
template <typename Struct, typename Value>
constexpr Field<Struct, Value> if_known(Field<Struct, Value> field) {
  field.if_known = true;
  return field;
}

/// What reading throws: a sentence. It does not leave the functions that decode a line.
struct Unfit : std::runtime_error {
  using std::runtime_error::runtime_error;
};

template <typename T>
inline constexpr bool kIsOptional = false;
template <typename T>
inline constexpr bool kIsOptional<std::optional<T>> = true;
template <typename T>
inline constexpr bool kIsList = false;
template <typename T>
inline constexpr bool kIsList<std::vector<T>> = true;

// --- writing ---

/// JSON in one line of ASCII; bytes that are no UTF-8 become U+FFFD.
inline std::string ascii_line(const json& in) {
  return in.dump(-1, ' ', true, json::error_handler_t::replace);
}

template <typename Struct>
json to_object(const Struct& in);

template <typename Struct, typename Value>
json to_value(const Value& value, const Field<Struct, Value>& field) {
  if constexpr (std::is_same_v<Value, std::string>) {
    return cut(value, field.limit);
  } else if constexpr (std::is_same_v<Value, std::vector<std::string>>) {
    json out = json::array();
    const std::size_t left_out = value.size() - std::min(value.size(), field.count_max);
    for (std::size_t i = left_out; i < value.size(); ++i) out.push_back(cut(value[i], field.limit));
    return out;
  } else if constexpr (std::is_same_v<Value, TextMap>) {
    json out = json::object();
    for (const auto& [key, text] : value)
      if (out.size() < field.count_max) out[cut(key, field.limit)] = cut(text, field.limit);
    return out;
  } else if constexpr (kIsList<Value>) {
    json out = json::array();
    for (std::size_t i = 0; i < std::min(value.size(), field.count_max); ++i)
      out.push_back(to_object(value[i]));
    return out;
  } else if constexpr (std::is_enum_v<Value>) {
    return name_of(value);
  } else if constexpr (std::is_arithmetic_v<Value>) {
    return value;
  } else {
    return to_object(value);
  }
}

template <typename Struct>
json to_object(const Struct& in) {
  json out = json::object();
  const auto put = [&](const auto& field) {
    const auto& value = in.*field.member;
    if constexpr (kIsOptional<std::decay_t<decltype(value)>>) {
      if (value) out[std::string{field.name}] = to_object(*value);
    } else {
      if constexpr (std::is_signed_v<std::decay_t<decltype(value)>>)
        if (field.if_known && value < 0) return;
      out[std::string{field.name}] = to_value(value, field);
    }
  };
  std::apply([&](const auto&... each) { (put(each), ...); }, kFields<Struct>);
  return out;
}

// --- reading ---

[[noreturn]] inline void unfit(std::string_view name, const json& in, const std::string& expected) {
  constexpr std::size_t kShown = 64;
  std::string shown = ascii_line(in);
  if (shown.size() > kShown) shown = shown.substr(0, kShown) + "...";
  throw Unfit{"'" + std::string{name} + "' is " + shown + ", and " + expected + " was expected"};
}

template <typename Struct>
Struct from_object(const json& in, std::string_view name);

template <std::integral Int>
Int integer_from(const json& in, std::string_view name) {
  using Limits = std::numeric_limits<Int>;
  const std::string expected = "a whole number from " + std::to_string(Limits::min()) + " to " +
                               std::to_string(Limits::max());
  if (!in.is_number_integer()) unfit(name, in, expected);
  const bool fits = in.is_number_unsigned() ? std::in_range<Int>(in.get<std::uint64_t>())
                                            : std::in_range<Int>(in.get<std::int64_t>());
  if (!fits) unfit(name, in, expected);
  return in.get<Int>();
}

template <typename Enum>
Enum enum_from(const json& in, std::string_view name) {
  std::string expected;
  for (const auto& named : kNames<Enum>) {
    if (in.is_string() && in.get_ref<const std::string&>() == named.name) return named.value;
    expected += (expected.empty() ? "" : " or ") + std::string{named.name};
  }
  unfit(name, in, expected);
}

inline std::string text_from(const json& in, std::string_view name) {
  if (!in.is_string()) unfit(name, in, "a text");
  return in.get<std::string>();
}

inline double number_from(const json& in, std::string_view name) {
  if (!in.is_number()) unfit(name, in, "a number");
  return in.get<double>();
}

template <typename Value>
Value value_from(const json& in, std::string_view name) {
  if constexpr (std::is_same_v<Value, std::string>) {
    return text_from(in, name);
  } else if constexpr (std::is_same_v<Value, std::vector<std::string>>) {
    if (!in.is_array()) unfit(name, in, "a list of texts");
    Value out;
    for (const json& each : in) out.push_back(text_from(each, name));
    return out;
  } else if constexpr (std::is_same_v<Value, TextMap>) {
    if (!in.is_object()) unfit(name, in, "an object of texts");
    Value out;
    for (const auto& [key, text] : in.items()) out[key] = text_from(text, name);
    return out;
  } else if constexpr (kIsList<Value>) {
    if (!in.is_array()) unfit(name, in, "a list of objects");
    Value out;
    for (const json& each : in) out.push_back(from_object<typename Value::value_type>(each, name));
    return out;
  } else if constexpr (std::is_same_v<Value, bool>) {
    if (!in.is_boolean()) unfit(name, in, "true or false");
    return in.get<bool>();
  } else if constexpr (std::is_enum_v<Value>) {
    return enum_from<Value>(in, name);
  } else if constexpr (std::is_integral_v<Value>) {
    return integer_from<Value>(in, name);
  } else if constexpr (std::is_floating_point_v<Value>) {
    return number_from(in, name);
  } else if constexpr (kIsOptional<Value>) {
    return from_object<typename Value::value_type>(in, name);
  } else {
    return from_object<Value>(in, name);
  }
}

/// Reads the object `in`, which is called `name` in errors. Fields that the table does not have are
/// passed over. Throws Unfit for a field that is missing, unless it is optional, and
/// for a value that does not fit its member.
template <typename Struct>
Struct from_object(const json& in, std::string_view name) {
  if (!in.is_object()) unfit(name, in, "an object");
  Struct out;
  const auto take = [&](const auto& field) {
    using Value = std::decay_t<decltype(out.*field.member)>;
    const auto found = in.find(field.name);
    if (found != in.end())
      out.*field.member = value_from<Value>(*found, field.name);
    else if (!kIsOptional<Value> && !field.if_known)
      throw Unfit{"'" + std::string{field.name} + "' is missing in '" + std::string{name} + "'"};
  };
  std::apply([&](const auto&... each) { (take(each), ...); }, kFields<Struct>);
  return out;
}

// --- the longest text ---

/// JSON writes a control character as six bytes, \u0001, and no other byte as more than that.
inline constexpr std::size_t kEscapedMax = 6;
inline constexpr std::size_t kNumberBytesMax = 24;  // -2.2250738585072014e-308

template <typename Struct>
constexpr std::size_t longest();

template <typename Struct, typename Value>
constexpr std::size_t longest_value(const Field<Struct, Value>& field) {
  const std::size_t one_text = kEscapedMax * field.limit.bytes + std::string_view{"\"\","}.size();
  if constexpr (std::is_same_v<Value, std::string>) {
    return one_text;
  } else if constexpr (std::is_same_v<Value, std::vector<std::string>>) {
    return field.count_max * one_text + std::string_view{"[]"}.size();
  } else if constexpr (std::is_same_v<Value, TextMap>) {
    return field.count_max * 2 * one_text + std::string_view{"{}"}.size();
  } else if constexpr (kIsList<Value>) {
    return field.count_max * (longest<typename Value::value_type>() + 1) + 2;
  } else if constexpr (std::is_enum_v<Value>) {
    std::size_t most = 0;
    for (const auto& named : kNames<Value>) most = std::max(most, named.name.size());
    return most + std::string_view{"\"\""}.size();
  } else if constexpr (std::is_arithmetic_v<Value>) {
    return kNumberBytesMax;
  } else if constexpr (kIsOptional<Value>) {
    return longest<typename Value::value_type>();
  } else {
    return longest<Value>();
  }
}

/// Returns a number of bytes that to_object() of a Struct, as text, never exceeds.
template <typename Struct>
constexpr std::size_t longest() {
  const auto length = [](const auto& field) {
    return field.name.size() + std::string_view{"\"\":,"}.size() + longest_value(field);
  };
  return std::apply([&](const auto&... each) { return (std::size_t{2} + ... + length(each)); },
                    kFields<Struct>);
}

}  // namespace ddprun::fields
