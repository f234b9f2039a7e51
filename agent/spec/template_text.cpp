#include "agent/spec/template_text.hpp"

#include <algorithm>
#include <optional>

namespace ddprun {

namespace {

/// The name that a '$' at `at` introduces, and where it ends.
struct Placeholder {
  std::string_view name;
  std::size_t end;
};

std::optional<Placeholder> placeholder(std::string_view text, std::size_t at) {
  const auto is_name = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  const bool braced = at + 1 < text.size() && text[at + 1] == '{';
  const std::size_t begin = at + (braced ? 2 : 1);
  std::size_t end = begin;
  while (end < text.size() && is_name(text[end])) ++end;
  if (end == begin || (braced && (end == text.size() || text[end] != '}'))) return std::nullopt;
  return Placeholder{text.substr(begin, end - begin), end + (braced ? 1 : 0)};
}

}  // namespace

std::string substitute(std::string_view text, std::span<const TemplateValue> values) {
  const auto value_at = [&](std::size_t at) {
    const auto found = at < text.size() && text[at] == '$' ? placeholder(text, at) : std::nullopt;
    const auto value =
        found ? std::ranges::find(values, found->name, &TemplateValue::first) : values.end();
    return std::pair{value, found ? found->end : at};
  };
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '$' && value_at(at + 1).first != values.end()) {
      const std::size_t end = value_at(at + 1).second;
      out += text.substr(at + 1, end - at - 1);
      at = end;
    } else if (const auto [value, end] = value_at(at); value != values.end()) {
      out += value->second;
      at = end;
    } else {
      out += text[at++];
    }
  }
  return out;
}

}  // namespace ddprun
