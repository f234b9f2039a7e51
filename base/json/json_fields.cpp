#include "base/json/json_fields.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

namespace ddprun::fields {

namespace {

using Kind = Type::Kind;
using Rule = Field::Rule;

const void* member(const Field& field, const void* object) {
  return field.in(const_cast<void*>(object));  // only to find it
}

template <typename T>
const T& as(const void* value) {
  return *static_cast<const T*>(value);
}
template <typename T>
T& as(void* value) {
  return *static_cast<T*>(value);
}

// --- integers of all widths ---

template <typename Int>
std::int64_t loaded_as(const void* value) {
  Int out;
  std::memcpy(&out, value, sizeof(Int));
  return static_cast<std::int64_t>(out);
}

/// An unsigned one of 64 bits comes as the same bits.
std::int64_t load(const Type& type, const void* value) {
  switch (type.bytes) {
    case 1:
      return type.is_signed ? loaded_as<std::int8_t>(value) : loaded_as<std::uint8_t>(value);
    case 2:
      return type.is_signed ? loaded_as<std::int16_t>(value) : loaded_as<std::uint16_t>(value);
    case 4:
      return type.is_signed ? loaded_as<std::int32_t>(value) : loaded_as<std::uint32_t>(value);
    default:
      return loaded_as<std::int64_t>(value);
  }
}

template <typename Int>
void store_as(std::uint64_t bits, void* value) {
  const auto out = static_cast<Int>(bits);
  std::memcpy(value, &out, sizeof(Int));
}

void store(std::size_t bytes, std::uint64_t bits, void* value) {
  switch (bytes) {
    case 1:
      return store_as<std::uint8_t>(bits, value);
    case 2:
      return store_as<std::uint16_t>(bits, value);
    case 4:
      return store_as<std::uint32_t>(bits, value);
    default:
      return store_as<std::uint64_t>(bits, value);
  }
}

/// The greatest integer of that many bits.
constexpr std::uint64_t greatest(std::size_t bits) { return ~std::uint64_t{0} >> (64 - bits); }

std::uint64_t greatest(const Type& type) {
  return greatest(8 * type.bytes - (type.is_signed ? 1 : 0));
}
std::int64_t least(const Type& type) {
  return type.is_signed ? -1 - static_cast<std::int64_t>(greatest(type)) : 0;
}

// --- writing ---

std::string_view name_of(const Type& type, int value) {
  const auto found = std::ranges::find(type.names, value, &Named::value);
  return found == type.names.end() ? std::string_view{} : found->name;
}

json written(const Type& type, const Field& field, const void* value);
json written_object(std::span<const Field> fields, const void* object);

json written_list(const Type& type, const Field& field, const void* value) {
  json out = json::array();
  const std::size_t count = type.count(value);
  const std::size_t kept = std::min(count, field.count_max);
  const std::size_t first = type.each->kind == Kind::kText ? count - kept : 0;
  for (std::size_t i = first; i < first + kept; ++i)
    out.push_back(written(*type.each, field, type.at(value, i)));
  return out;
}

json written_texts(const Field& field, const TextMap& texts) {
  json out = json::object();
  for (const auto& [key, text] : texts)
    if (out.size() < field.count_max) out[cut(key, field.limit)] = cut(text, field.limit);
  return out;
}

json written(const Type& type, const Field& field, const void* value) {
  switch (type.kind) {
    case Kind::kText:
      return cut(as<std::string>(value), field.limit);
    case Kind::kTexts:
      return written_texts(field, as<TextMap>(value));
    case Kind::kBool:
      return as<bool>(value);
    case Kind::kInteger:
      if (type.is_signed) return load(type, value);
      return static_cast<std::uint64_t>(load(type, value));
    case Kind::kReal:
      return as<double>(value);
    case Kind::kEnum:
      return name_of(type, static_cast<int>(loaded_as<int>(value)));
    case Kind::kStruct:
      return written_object(type.fields, value);
    case Kind::kList:
      return written_list(type, field, value);
    case Kind::kOptional:
      return type.count(value) == 0 ? json{} : written(*type.each, field, type.at(value, 0));
  }
  return {};
}

bool is_negative(const Type& number, const void* value) {
  if (number.kind == Kind::kReal) return as<double>(value) < 0;
  return number.is_signed && load(number, value) < 0;
}

/// Whether there is nothing to say. An optional that is there says something, whatever it is.
bool is_empty(const Type& type, const json& value) {
  if (type.kind == Kind::kOptional) return value.is_null();
  if (value.is_string()) return value.get_ref<const std::string&>().empty();
  return value == false || (value.is_structured() && value.empty());
}

void write_into(json& out, std::span<const Field> fields, const void* object) {
  for (const Field& field : fields) {
    const Type& type = *field.type;
    const void* value = member(field, object);
    if (field.rule == Rule::kInline) {
      write_into(out, type.fields, value);
      continue;
    }
    if (type.kind == Kind::kOptional && type.count(value) == 0) continue;
    if (field.rule == Rule::kIfKnown && is_negative(type, value)) continue;
    json each = written(type, field, value);
    if (field.rule == Rule::kIfAny && is_empty(type, each)) continue;
    out[std::string{field.name}] = std::move(each);
  }
}

json written_object(std::span<const Field> fields, const void* object) {
  json out = json::object();
  write_into(out, fields, object);
  return out;
}

// --- reading ---

void read_integer(const Type& type, const json& in, std::string_view name, void* value) {
  const auto* whole = in.get_ptr<const json::number_integer_t*>();
  const bool positive = in.is_number_unsigned();
  const bool fits =
      whole != nullptr &&
      (positive ? static_cast<std::uint64_t>(*whole) <= greatest(type)
                : *whole >= least(type) && std::cmp_less_equal(*whole, greatest(type)));
  if (!fits)
    unfit(name, in,
          "a whole number from " + std::to_string(least(type)) + " to " +
              std::to_string(greatest(type)));
  store(type.bytes, static_cast<std::uint64_t>(*whole), value);
}

void read_enum(const Type& type, const json& in, std::string_view name, void* value) {
  const auto* text = in.get_ptr<const std::string*>();
  for (const Named& named : type.names)
    if (text != nullptr && *text == named.name)
      return store(sizeof(int), static_cast<std::uint64_t>(named.value), value);
  std::string expected;
  for (const Named& named : type.names)
    expected += (expected.empty() ? "" : " or ") + std::string{named.name};
  unfit(name, in, expected);
}

void read_texts(const json& in, std::string_view name, TextMap& texts) {
  if (!in.is_object()) unfit(name, in, "an object of texts");
  texts.clear();
  for (const auto& [key, text] : in.items()) texts[key] = text_from(text, name);
}

const char* expected_list(const Type& each) {
  if (each.kind == Kind::kText) return "a list of texts";
  return each.kind == Kind::kStruct ? "a list of objects" : "a list";
}

void read_list(const Type& type, const json& in, std::string_view name, void* list) {
  if (!in.is_array()) unfit(name, in, expected_list(*type.each));
  for (const json& each : in) read_value(*type.each, each, name, type.add(list));
}

/// Whether the field may be missing.
bool can_miss(const Field& field) {
  return field.type->kind == Kind::kOptional || field.rule != Rule::kAlways;
}

void read_field(const Field& field, const json& in, void* value) {
  if (field.rule == Rule::kIfAny && in.is_null()) return;
  read_value(*field.type, in, field.name, value);
  if (in.is_number_integer() && !in.is_number_unsigned() && in.get<std::int64_t>() < field.least)
    unfit(field.name, in, "a number from " + std::to_string(field.least) + " up");
}

}  // namespace

json to_object(const Object& in) { return written_object(in.fields, in.object); }

std::string to_text(const Object& in, JsonStyle style, Tag tag) {
  json out = to_object(in);
  if (!tag.name.empty()) out[std::string{tag.name}] = tag.text;
  return json_text(out, style);
}

std::string to_line(const Object& message, JsonStyle style) {
  assert(!message.type.empty());  // else its table is no message()
  return to_text(message, style, {"type", message.type}) + '\n';
}

Result<std::string> to_strict_line(const Object& message) {
  json out = to_object(message);
  out["type"] = message.type;
  const auto line = strict_json_text(out);
  if (!line) return line.error();
  return *line + '\n';
}

void unfit(std::string_view name, const json& in, const std::string& expected) {
  constexpr std::size_t kShown = 64;
  std::string shown = json_text(in, JsonStyle::kAscii);
  if (shown.size() > kShown) shown = shown.substr(0, kShown) + "...";
  throw Unfit{"'" + std::string{name} + "' is " + shown + ", and " + expected + " was expected"};
}

void read_value(const Type& type, const json& in, std::string_view name, void* value) {
  switch (type.kind) {
    case Kind::kText:
      if (!in.is_string()) unfit(name, in, "a text");
      as<std::string>(value) = in.get_ref<const std::string&>();
      return;
    case Kind::kTexts:
      return read_texts(in, name, as<TextMap>(value));
    case Kind::kBool:
      if (!in.is_boolean()) unfit(name, in, "true or false");
      as<bool>(value) = in.get<bool>();
      return;
    case Kind::kInteger:
      return read_integer(type, in, name, value);
    case Kind::kReal:
      if (!in.is_number()) unfit(name, in, "a number");
      as<double>(value) = in.get<double>();
      return;
    case Kind::kEnum:
      return read_enum(type, in, name, value);
    case Kind::kStruct:
      return read(type.fields, in, name, value);
    case Kind::kList:
      return read_list(type, in, name, value);
    case Kind::kOptional:
      return read_value(*type.each, in, name, type.add(value));
  }
}

void read(std::span<const Field> fields, const json& in, std::string_view name, void* object) {
  if (!in.is_object()) unfit(name, in, "an object");
  for (const Field& field : fields) {
    void* value = field.in(object);
    if (field.rule == Rule::kInline) {
      read(field.type->fields, in, name, value);
      continue;
    }
    const auto found = in.find(field.name);
    if (found != in.end())
      read_field(field, *found, value);
    else if (!can_miss(field))
      throw Unfit{"'" + std::string{field.name} + "' is missing in '" + std::string{name} + "'"};
  }
}

void read_text(std::span<const Field> fields, std::string_view text, std::string_view name,
               void* object) {
  const auto in = parse_json(text);
  if (!in) throw Unfit{in.error().message};
  read(fields, **in, name, object);
}

const json& member_in(const json& object, std::string_view name, std::string_view whole) {
  if (!object.is_object()) unfit(whole, object, "an object");
  const auto found = object.find(name);
  if (found == object.end())
    throw Unfit{"'" + std::string{name} + "' is missing in '" + std::string{whole} + "'"};
  return *found;
}

}  // namespace ddprun::fields
