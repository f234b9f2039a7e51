// How a struct becomes a JSON object and is read back. A table, kFields<Struct>, names its members;
// every text in it has a limit, so that the longest line that a struct can make is known when it is
// compiled: see longest<Struct>().
//
// The tables are data, which one writer and one reader interpret: templates for each member of each
// struct were 350 kB of code, and most of the time that the compiler needed here.
//
// nlohmann/json's own conversions do not do here: they cut 4294967298 down to the int 2, take 2.7
// for 2, and an unknown name for the first value of an enum.
#pragma once

#include <concepts>
#include <cstddef>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/json/field_types.hpp"
#include "base/json/json_text.hpp"
#include "base/text.hpp"

namespace ddprun::fields {

using nlohmann::json;

// --- fields ---

template <typename Struct, typename Value>
Struct struct_of(Value Struct::*member);
template <typename Struct, typename Value>
Value value_of(Value Struct::*member);
template <auto kMember>
using StructOf = decltype(struct_of(kMember));
template <auto kMember>
using ValueOf = decltype(value_of(kMember));

inline constexpr std::size_t kAnySize = std::numeric_limits<std::size_t>::max();

/// A member of any type, whose texts and lists have no limit. No longest text of it is known.
template <auto kMember>
constexpr Field uncut(std::string_view name) {
  return {.name = name,
          .in = [](void* object) -> void* {
            return &(static_cast<StructOf<kMember>*>(object)->*kMember);
          },
          .type = &TypeOf<ValueOf<kMember>>::kType,
          .limit = {kAnySize},
          .count_max = kAnySize};
}

/// A member that holds no text by itself: a number, a bool, an enum, or another struct.
template <auto kMember>
constexpr Field field(std::string_view name) {
  using Value = ValueOf<kMember>;
  static_assert(!std::is_same_v<Value, std::string>, "a text needs a limit: text()");
  static_assert(!std::is_same_v<Value, TextMap>, "texts need a limit: texts()");
  static_assert(!kIsList<Value>, "a list needs a limit: list() or texts()");
  return uncut<kMember>(name);
}

/// A text, cut to `limit`.
template <auto kMember>
constexpr Field text(std::string_view name, TextLimit limit) {
  static_assert(std::is_same_v<ValueOf<kMember>, std::string>);
  Field out = uncut<kMember>(name);
  out.limit = limit;
  return out;
}

/// Texts, each cut to `limit`: a list, of which the last `count_max` are written, or texts by name.
template <auto kMember>
constexpr Field texts(std::string_view name, TextLimit limit, std::size_t count_max) {
  using Value = ValueOf<kMember>;
  static_assert(std::is_same_v<Value, std::vector<std::string>> || std::is_same_v<Value, TextMap>);
  Field out = uncut<kMember>(name);
  out.limit = limit;
  out.count_max = count_max;
  return out;
}

/// Structs that have a table themselves, of which the first `count_max` are written.
template <auto kMember>
constexpr Field list(std::string_view name, std::size_t count_max) {
  using Value = ValueOf<kMember>;
  static_assert(kIsList<Value> && !std::is_same_v<Value, std::vector<std::string>>);
  Field out = uncut<kMember>(name);
  out.count_max = count_max;
  return out;
}

/// A number that is left out while it is negative, which stands for "not known".
constexpr Field if_known(Field field) {
  const Type::Kind kind = field.type->kind;
  if (kind != Type::Kind::kInteger && kind != Type::Kind::kReal) throw "it is no number";
  field.rule = Field::Rule::kIfKnown;
  return field;
}

/// What is left out while it is empty, false or not there.
constexpr Field if_any(Field field) {
  field.rule = Field::Rule::kIfAny;
  return field;
}

/// A member of any type that is left out while there is nothing to say. What counts bytes or the
/// like may be -1, for "no limit", and no less.
template <auto kMember>
constexpr Field some(std::string_view name) {
  Field out = if_any(uncut<kMember>(name));
  const bool holds_one =
      out.type->kind == Type::Kind::kOptional || out.type->kind == Type::Kind::kList;
  const Type& number = holds_one ? *out.type->each : *out.type;
  if (number.bytes == sizeof(std::int64_t)) out.least = -1;
  return out;
}

/// What stays as it is where it is missing.
constexpr Field may_miss(Field field) {
  field.rule = Field::Rule::kMayMiss;
  return field;
}

/// A struct whose fields stand among those of the struct that it is in.
template <auto kMember>
constexpr Field inlined() {
  Field out = field<kMember>("");
  out.rule = Field::Rule::kInline;
  return out;
}

// --- writing and reading ---

/// A struct that is to be written, with its table.
struct Object {
  template <typename Struct>
  Object(const Struct& in)
      : type{kFields<Struct>.type}, fields{kFields<Struct>.fields}, object{&in} {}
  Object(std::string_view its_type, std::span<const Field> its_fields, const void* in)
      : type{its_type}, fields{its_fields}, object{in} {}

  std::string_view type;
  std::span<const Field> fields;
  const void* object;
};

json to_object(const Object& in);

/// A text that stands among the fields of an object, as its schema does.
struct Tag {
  std::string_view name;
  std::string_view text;
};

/// Writes it as text, for callers that need no tree of values.
std::string to_text(const Object& in, JsonStyle style = JsonStyle::kLine, Tag tag = {});

/// A message with its type, and a newline.
std::string to_line(const Object& message, JsonStyle style = JsonStyle::kLine);
/// Writes the same line. Errors: kInvalid, when a text in it is no UTF-8.
Result<std::string> to_strict_line(const Object& message);

/// What reading throws: a sentence. It does not leave the functions that decode a line.
struct Unfit : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Throws Unfit: `in`, which is called `name`, is not what was expected.
[[noreturn]] void unfit(std::string_view name, const json& in, const std::string& expected);

void read(std::span<const Field> fields, const json& in, std::string_view name, void* object);
void read_text(std::span<const Field> fields, std::string_view text, std::string_view name,
               void* object);
void read_value(const Type& type, const json& in, std::string_view name, void* value);

/// Reads the object `in`, which is called `name` in errors. Fields that the table does not have are
/// passed over. Throws Unfit for a field that is missing, unless it is optional, and
/// for a value that does not fit its member.
template <typename Struct>
Struct from_object(const json& in, std::string_view name) {
  Struct out;
  read(kFields<Struct>.fields, in, name, &out);
  return out;
}

/// Reads the same from a text. Throws Unfit, also with what the parser says.
template <typename Struct>
Struct from_text(std::string_view text, std::string_view name) {
  Struct out;
  read_text(kFields<Struct>.fields, text, name, &out);
  return out;
}

/// Reads one value, which is called `name` in errors. Throws Unfit.
template <typename Value>
Value value_from(const json& in, std::string_view name) {
  Value out{};
  read_value(TypeOf<Value>::kType, in, name, &out);
  return out;
}
template <std::integral Int>
Int integer_from(const json& in, std::string_view name) {
  return value_from<Int>(in, name);
}
template <typename Enum>
Enum enum_from(const json& in, std::string_view name) {
  return value_from<Enum>(in, name);
}
inline std::string text_from(const json& in, std::string_view name) {
  return value_from<std::string>(in, name);
}
inline double number_from(const json& in, std::string_view name) {
  return value_from<double>(in, name);
}

/// The member `name` of an object that is called `whole`. Throws Unfit when there is none.
const json& member_in(const json& object, std::string_view name, std::string_view whole);

// --- the longest text ---

/// JSON writes a control character as six bytes, \u0001, and no other byte as more than that.
inline constexpr std::size_t kEscapedMax = 6;
inline constexpr std::size_t kNumberBytesMax = 24;  // -2.2250738585072014e-308

constexpr std::size_t longest(std::span<const Field> fields);

constexpr std::size_t longest_value(const Type& type, const Field& field) {
  const auto limited = [](std::size_t size) {
    if (size == kAnySize) throw "it has no limit";
    return size;
  };
  const auto one_text = [&] { return kEscapedMax * limited(field.limit.bytes) + 2; };
  std::size_t most = 0;
  switch (type.kind) {
    case Type::Kind::kText:
      return one_text();
    case Type::Kind::kTexts:
      return limited(field.count_max) * (2 * one_text() + std::string_view{":,"}.size()) + 2;
    case Type::Kind::kEnum:
      for (const Named& named : type.names)
        if (named.name.size() > most) most = named.name.size();
      return most + std::string_view{"\"\""}.size();
    case Type::Kind::kStruct:
      return longest(type.fields);
    case Type::Kind::kList:
      return limited(field.count_max) * (longest_value(*type.each, field) + 1) + 2;
    case Type::Kind::kOptional:
      return longest_value(*type.each, field);
    default:
      return kNumberBytesMax;
  }
}

constexpr std::size_t longest(std::span<const Field> fields) {
  std::size_t bytes = std::string_view{"{}"}.size();
  for (const Field& field : fields)
    bytes +=
        field.name.size() + std::string_view{"\"\":,"}.size() + longest_value(*field.type, field);
  return bytes;
}

/// Returns a number of bytes that to_object() of a Struct, as text, never exceeds.
template <typename Struct>
constexpr std::size_t longest() {
  return longest(kFields<Struct>.fields);
}

}  // namespace ddprun::fields
