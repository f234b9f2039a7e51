// What the tables of json_fields.hpp are made of: the types of values, and members of structs.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/text.hpp"

namespace ddprun::fields {

struct Field;

/// The name of an enum's value.
struct Named {
  template <typename Enum>
  constexpr Named(Enum of, std::string_view is) : value{static_cast<int>(of)}, name{is} {}

  int value;
  std::string_view name;
};

/// What is to be known of a type, so that its values can be written and read.
struct Type {
  enum class Kind { kText, kTexts, kBool, kInteger, kReal, kEnum, kStruct, kList, kOptional };
  Kind kind;               // kTexts: texts by name
  std::size_t bytes = 0;   // the size of an integer
  bool is_signed = false;  // whether the integer has a sign
  // Enums have names, and structs fields.
  std::span<const Named> names = {};
  std::span<const Field> fields = {};
  // What follows is known of a list, and of an optional, which has one entry or none.
  const Type* each = nullptr;
  std::size_t (*count)(const void* list) = nullptr;
  const void* (*at)(const void* list, std::size_t index) = nullptr;
  void* (*add)(void* list) = nullptr;  // appends an entry, and returns it
};

/// A member and its name in JSON.
struct Field {
  enum class Rule {
    kAlways,
    kMayMiss,  // it is always written, and read if it is there
    kIfKnown,  // it is left out while it is negative
    kIfAny,    // it is left out while it is empty, false or not there
    kInline,   // its own fields stand in the object of the struct that it is in
  };
  std::string_view name;
  void* (*in)(void* object);  // returns the member
  const Type* type;
  TextLimit limit;        // texts are cut to it when they are written
  std::size_t count_max;  // more entries of a list are not written
  Rule rule = Rule::kAlways;
  std::int64_t least = std::numeric_limits<std::int64_t>::min();  // a smaller integer is refused
};

/// The fields of a struct. One that travels as a message by itself has a type, too.
template <std::size_t kCount>
struct Table {
  std::string_view type;
  std::array<Field, kCount> fields;
};

template <typename... Fields>
consteval Table<sizeof...(Fields)> table(Fields... fields) {
  return {"", {fields...}};
}
template <typename... Fields>
consteval Table<sizeof...(Fields)> message(std::string_view type, Fields... fields) {
  return {type, {fields...}};
}

/// The table of a struct: what table() or message() returns. It is a specialization, and stands
/// before those of structs that have such a member. A struct without one does not compile.
template <typename Struct>
inline constexpr std::nullptr_t kFields = nullptr;

/// The names of an enum's values: a std::array of Named.
template <typename Enum>
inline constexpr std::nullptr_t kNames = nullptr;

/// The name of an enum's value.
template <typename Enum>
constexpr std::string_view name_of(Enum value) {
  for (const Named& named : kNames<Enum>)
    if (named.value == static_cast<int>(value)) return named.name;
  return "";
}

using TextMap = std::map<std::string, std::string>;

template <typename T>
inline constexpr bool kIsOptional = false;
template <typename T>
inline constexpr bool kIsOptional<std::optional<T>> = true;
template <typename T>
inline constexpr bool kIsList = false;
template <typename T>
inline constexpr bool kIsList<std::vector<T>> = true;

template <typename Value>
struct TypeOf;

template <typename List>
constexpr Type list_type() {
  using Each = typename List::value_type;
  return {.kind = Type::Kind::kList,
          .each = &TypeOf<Each>::kType,
          .count = [](const void* list) { return static_cast<const List*>(list)->size(); },
          .at = [](const void* list, std::size_t index) -> const void* {
            return &(*static_cast<const List*>(list))[index];
          },
          .add = [](void* list) -> void* { return &static_cast<List*>(list)->emplace_back(); }};
}

template <typename Optional>
constexpr Type optional_type() {
  using Each = typename Optional::value_type;
  return {
      .kind = Type::Kind::kOptional,
      .each = &TypeOf<Each>::kType,
      .count = [](const void* optional) -> std::size_t {
        return static_cast<const Optional*>(optional)->has_value() ? 1 : 0;
      },
      .at = [](const void* optional, std::size_t) -> const void* {
        return &**static_cast<const Optional*>(optional);
      },
      .add = [](void* optional) -> void* { return &static_cast<Optional*>(optional)->emplace(); }};
}

template <typename Value>
constexpr Type type_of() {
  if constexpr (std::is_same_v<Value, std::string>) {
    return {.kind = Type::Kind::kText};
  } else if constexpr (std::is_same_v<Value, TextMap>) {
    return {.kind = Type::Kind::kTexts};
  } else if constexpr (std::is_same_v<Value, bool>) {
    return {.kind = Type::Kind::kBool};
  } else if constexpr (std::is_integral_v<Value>) {
    return {
        .kind = Type::Kind::kInteger, .bytes = sizeof(Value), .is_signed = std::is_signed_v<Value>};
  } else if constexpr (std::is_same_v<Value, std::chrono::milliseconds>) {
    return type_of<std::chrono::milliseconds::rep>();  // its count, as a number
  } else if constexpr (std::is_same_v<Value, double>) {
    return {.kind = Type::Kind::kReal};
  } else if constexpr (std::is_enum_v<Value>) {
    static_assert(sizeof(Value) == sizeof(int));
    return {.kind = Type::Kind::kEnum, .names = kNames<Value>};
  } else if constexpr (kIsList<Value>) {
    return list_type<Value>();
  } else if constexpr (kIsOptional<Value>) {
    return optional_type<Value>();
  } else {
    return {.kind = Type::Kind::kStruct, .fields = kFields<Value>.fields};
  }
}

template <typename Value>
struct TypeOf {
  static constexpr Type kType = type_of<Value>();
};

}  // namespace ddprun::fields
