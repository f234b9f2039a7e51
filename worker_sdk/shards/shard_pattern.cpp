// expand_shards()

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <string_view>
#include <utility>

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

/// What stands at one place of a path: one text, or the alternatives of a pair of braces.
struct Part {
  std::vector<std::string> all;
  std::size_t repeats = 1;  // each of them stands in this many paths before the next one does
};

std::vector<Part> parts_of(const std::string& pattern) {
  std::vector<Part> parts;
  std::string_view rest = pattern;
  for (;;) {
    const std::size_t open = rest.find('{');
    parts.push_back({{std::string{rest.substr(0, open)}}});
    if (open == std::string_view::npos) return parts;
    const std::size_t close = rest.find('}', open);
    if (close == std::string_view::npos) refuse(pattern, "a brace has no end");
    parts.push_back({alternatives(pattern, rest.substr(open + 1, close - open - 1))});
    rest.remove_prefix(close + 1);
  }
}

/// Sets how often each of them repeats, and returns how many paths there are.
std::size_t count_paths(const std::string& pattern, std::vector<Part>& parts) {
  std::size_t paths = 1;
  std::size_t bytes = 0;
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    part->repeats = paths;
    std::size_t length = 0;
    for (const std::string& one : part->all) length += one.size();
    bytes = bytes * part->all.size() + length * paths;
    paths *= part->all.size();
    if (paths > kPathsMax) refuse(pattern, "these are more than a million paths");
    if (bytes > kBytesMax) refuse(pattern, "these paths are more than 64 MiB of text");
  }
  return paths;
}

}  // namespace

std::vector<std::filesystem::path> expand_shards(const std::string& pattern) {
  std::vector<Part> parts = parts_of(pattern);
  const std::size_t count = count_paths(pattern, parts);
  std::vector<std::filesystem::path> paths;
  paths.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    std::string path;
    for (const Part& part : parts) path += part.all[i / part.repeats % part.all.size()];
    paths.emplace_back(std::move(path));
  }
  return paths;
}

}  // namespace ddprun::sdk
