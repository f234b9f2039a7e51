// parse_number(): reads a text that is a number and nothing else.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace ddprun {

/// Returns the number that `text` spells in decimal; nullopt when it is empty, does not fit into
/// `Number`, or has anything before or behind the number (a space, a '+', a unit).
template <typename Number>
std::optional<Number> parse_number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace ddprun
