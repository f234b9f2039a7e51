#include "agent/template_text.hpp"

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
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    if (text.substr(at, 2) == "$$") {
      out += '$';
      at += 2;
      continue;
    }
    const auto found = text[at] == '$' ? placeholder(text, at) : std::nullopt;
    const auto value =
        found ? std::ranges::find(values, found->name, &TemplateValue::first) : values.end();
    if (value == values.end()) {
      out += text[at++];
      continue;
    }
    out += value->second;
    at = found->end;
  }
  return out;
}

}  // namespace ddprun
