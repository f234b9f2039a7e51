// expand_shards()

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <string_view>

#include "ddprun/tar_shards.hpp"

namespace ddprun::sdk {

namespace {

constexpr std::size_t kPathsMax = 1'000'000;
constexpr std::size_t kBytesMax = std::size_t{64} << 20;  // all paths together
constexpr std::size_t kDigitsMax = 18;

[[noreturn]] void refuse(const std::string& pattern, const std::string& reason) {
  throw std::invalid_argument{"expand_shards: '" + pattern + "': " + reason};
}

/// A number of digits alone.
std::optional<std::int64_t> number_of(std::string_view text) {
  std::int64_t number = 0;
  const auto end = text.data() + text.size();
  const bool digits = !text.empty() && text.size() <= kDigitsMax && text[0] != '-';
  if (!digits || std::from_chars(text.data(), end, number).ptr != end) return std::nullopt;
  return number;
}

std::string padded(std::int64_t number, std::size_t width) {
  const std::string digits = std::to_string(number);
  return std::string(width - std::min(width, digits.size()), '0') + digits;
}

/// "000..146" and "a,b": what one pair of braces stands for.
std::vector<std::string> alternatives(const std::string& pattern, std::string_view inside) {
  std::vector<std::string> all;
  if (const auto dots = inside.find(".."); dots != std::string_view::npos) {
    const auto first = number_of(inside.substr(0, dots));
    const auto last = number_of(inside.substr(dots + 2));
    if (!first || !last || *last < *first)
      refuse(pattern, "expected two numbers around '..', the smaller one first");
    if (static_cast<std::size_t>(*last - *first) >= kPathsMax)
      refuse(pattern, "these are more than a million paths");
    for (auto i = *first; i <= *last; ++i) all.push_back(padded(i, dots));
    return all;
  }
  for (std::size_t begin = 0;;) {
    const std::size_t comma = inside.find(',', begin);
    all.emplace_back(inside.substr(begin, comma - begin));
    if (comma == std::string_view::npos) return all;
    begin = comma + 1;
  }
}

}  // namespace

std::vector<std::filesystem::path> expand_shards(const std::string& pattern) {
  std::vector<std::string> paths{""};
  std::size_t bytes = 0;
  const auto require_room = [&] {
    if (bytes > kBytesMax) refuse(pattern, "these paths are more than 64 MiB of text");
  };
  std::string_view rest = pattern;
  for (;;) {
    const std::size_t open = rest.find('{');
    const std::string_view plain = rest.substr(0, open);
    bytes += paths.size() * plain.size();
    require_room();
    for (std::string& path : paths) path += plain;
    if (open == std::string_view::npos) return {paths.begin(), paths.end()};
    const std::size_t close = rest.find('}', open);
    if (close == std::string_view::npos) refuse(pattern, "a brace has no end");
    const auto all = alternatives(pattern, rest.substr(open + 1, close - open - 1));
    if (paths.size() * all.size() > kPathsMax)
      refuse(pattern, "these are more than a million paths");
    bytes *= all.size();
    for (const std::string& one : all) bytes += paths.size() * one.size();
    require_room();
    std::vector<std::string> longer;
    for (const std::string& path : paths)
      for (const std::string& one : all) longer.push_back(path + one);
    paths = std::move(longer);
    rest.remove_prefix(close + 1);
  }
}

}  // namespace ddprun::sdk
