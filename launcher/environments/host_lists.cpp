#include "launcher/environments/host_lists.hpp"

#include <fmt/format.h>

#include <set>
#include <sstream>

#include "base/json/json_text.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"

namespace ddprun {

namespace {

HostNames each_once(const HostNames& names) {
  std::set<std::string> seen;
  HostNames once;
  for (const std::string& name : names)
    if (seen.insert(name).second && once.size() < kSlurmHostsMax) once.push_back(name);
  return once;
}

HostNames words_in(std::string_view text) {
  std::istringstream stream{std::string{text}};
  HostNames words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

Error no_list(std::string_view text, const std::string& expected) {
  return {Error::Kind::kInvalid, fmt::format("{} is no {}", printable(text), expected)};
}

Result<HostNames> strings_in(const nlohmann::json* list, std::string_view text,
                             const std::string& expected) {
  HostNames names;
  const auto told = entries(list);
  if (!told || told->empty()) return no_list(text, expected);
  for (const auto* each : *told) {
    const std::string* name = text_in(each);
    if (name == nullptr) return no_list(text, expected);
    names.push_back(*name);
  }
  return names;
}

}  // namespace

HostNames hosts_of_places(std::string_view text) { return each_once(words_in(text)); }

HostNames hosts_with_places(std::string_view text) {
  HostNames names;
  for (const std::string& word : words_in(text))
    if (!parse_number<unsigned>(word)) names.push_back(word);
  return each_once(names);
}

Result<HostNames> hosts_in_json(std::string_view text) {
  const ParsedJson json = json_or_null(text);
  auto names = strings_in(&*json, text, "list of hosts, expected one like [\"h1\",\"h2\"]");
  if (!names) return names;
  return each_once(*names);
}

Result<HostNames> hosts_in_flux_resources(std::string_view text) {
  const std::string expected = "resource set of Flux with an execution.nodelist";
  const ParsedJson json = json_or_null(text);
  auto lists = strings_in(member(member(*json, "execution"), "nodelist"), text, expected);
  if (!lists) return lists;
  HostNames hosts;
  for (const std::string& list : *lists) {
    auto more = expand_slurm_hosts(list);
    if (!more) return more;
    hosts.insert(hosts.end(), more->begin(), more->end());
  }
  return hosts;
}

Result<std::string> first_pod(std::string_view host_name, int index, std::string_view hosts_file) {
  const std::string own{host_name.substr(0, host_name.find('.'))};
  const std::string ending = fmt::format("-{}", index);
  if (!own.ends_with(ending))
    return Error{Error::Kind::kInvalid,
                 fmt::format("the pod's host name {} does not end in {}", printable(own), ending)};
  std::istringstream lines{std::string{hosts_file}};
  for (std::string line; std::getline(lines, line);)
    for (const std::string& name : words_in(line.substr(0, line.find('#'))))
      if (name.starts_with(own + "."))
        return own.substr(0, own.size() - ending.size()) + "-0" + name.substr(own.size());
  return Error{Error::Kind::kInvalid,
               "the pod has no subdomain, which is the name of a headless Service"};
}

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
