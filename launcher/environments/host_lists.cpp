#include "launcher/environments/host_lists.hpp"

#include <fmt/format.h>

#include <set>
#include <sstream>

#include "base/json/json_text.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"
#include "launcher/environments/slurm_hosts.hpp"

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

}  // namespace ddprun
