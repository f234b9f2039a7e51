#include "worker_sdk/shards/entry_name.hpp"

namespace ddprun::sdk {

namespace {

/// Not std::tolower(), which asks for the locale.
char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

std::optional<EntryName> split_entry_name(std::string_view path) {
  const std::string_view first = path.substr(0, path.find('/'));
  if (first.size() >= 4 && first.starts_with("__") && first.ends_with("__")) return std::nullopt;
  const std::size_t slash = path.rfind('/');
  const std::size_t base = slash == std::string_view::npos ? 0 : slash + 1;
  const std::size_t dot = path.find('.', base);
  if (dot == std::string_view::npos || dot == base) return std::nullopt;
  EntryName name{std::string{path.substr(0, dot)}, std::string{path.substr(dot + 1)}};
  for (char& c : name.field) c = lower(c);
  return name;
}

}  // namespace ddprun::sdk
