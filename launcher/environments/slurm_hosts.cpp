#include "launcher/environments/slurm_hosts.hpp"

#include <fmt/format.h>

#include "base/numbers.hpp"

namespace ddprun {

namespace {

using Names = std::vector<std::string>;

Error malformed(std::string_view part) {
  return {Error::Kind::kInvalid,
          fmt::format("'{}' is no list of hosts, expected one like n[001-003,7],login", part)};
}

/// Cuts a list at the commas that are in no brackets.
Names split_hosts(std::string_view list) {
  Names parts(1);
  int depth = 0;
  for (const char c : list) {
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    if (c == ',' && depth == 0)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

/// Writes out "001-003" or "7".
Result<Names> expand_range(std::string_view range) {
  const std::size_t dash = range.find('-');
  const std::string_view first = range.substr(0, dash);
  const std::string_view last = dash == std::string_view::npos ? first : range.substr(dash + 1);
  const auto from = parse_number<unsigned>(first);
  const auto to = parse_number<unsigned>(last);
  if (!from || !to || *to < *from || *to - *from >= kSlurmHostsMax) return malformed(range);
  Names numbers;
  for (unsigned i = *from; i <= *to; ++i) numbers.push_back(fmt::format("{:0{}}", i, first.size()));
  return numbers;
}

Result<Names> expand_ranges(std::string_view ranges) {
  Names numbers;
  for (const std::string& range : split_hosts(ranges)) {
    const auto more = expand_range(range);
    if (!more) return more.error();
    numbers.insert(numbers.end(), more->begin(), more->end());
  }
  return numbers;
}

/// Writes out one name with any number of brackets. What follows the first is expanded for each of
/// its numbers.
Result<Names> expand_name(std::string_view name) {
  const std::size_t open = name.find('[');
  if (open == std::string_view::npos) {
    if (name.empty() || name.find(']') != std::string_view::npos) return malformed(name);
    return Names{std::string{name}};
  }
  const std::size_t close = name.find(']', open);
  if (close == std::string_view::npos) return malformed(name);
  const auto numbers = expand_ranges(name.substr(open + 1, close - open - 1));
  if (!numbers) return numbers.error();
  const std::string_view rest = name.substr(close + 1);
  const auto tails = rest.empty() ? Result<Names>{Names{""}} : expand_name(rest);
  if (!tails) return tails.error();
  if (numbers->size() * tails->size() > kSlurmHostsMax) return malformed(name);
  Names names;
  for (const std::string& digits : *numbers)
    for (const std::string& tail : *tails)
      names.push_back(fmt::format("{}{}{}", name.substr(0, open), digits, tail));
  return names;
}

}  // namespace

Result<std::vector<std::string>> expand_slurm_hosts(std::string_view list) {
  Names hosts;
  for (const std::string& name : split_hosts(list)) {
    const auto more = expand_name(name);
    if (!more) return more.error();
    hosts.insert(hosts.end(), more->begin(), more->end());
    if (hosts.size() > kSlurmHostsMax) return malformed(list.substr(0, 60));
  }
  return hosts;
}

}  // namespace ddprun
