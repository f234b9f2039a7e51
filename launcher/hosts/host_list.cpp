#include "launcher/hosts/host_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <utility>

#include "base/text.hpp"
#include "launcher/settings/values.hpp"
#include "rendezvous/messages/message_limits.hpp"

namespace ddprun {

namespace {

constexpr char kBlanks[] = " \t\r\v\f";

Error wrong(const std::string& where, const std::string& what) {
  return {Error::Kind::kInvalid, where + ": " + what};
}

/// Whether ssh takes it for the name of a user. No shell command and no option can be made of such
/// a text.
bool is_user(const std::string& text) {
  const auto fits = [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view{"-._:%@"}.find(static_cast<char>(c)) != std::string_view::npos;
  };
  return !text.empty() && text.front() != '-' && std::ranges::all_of(text, fits);
}

/// Collects hosts, and remembers where each was named.
class HostList {
 public:
  Result<void> add(Host host, const std::string& where) {
    if (hosts_.size() == kHostsMax)
      return wrong(where, fmt::format("at most {} hosts are possible", kHostsMax));
    const auto [first, is_new] = sources_.try_emplace(host.label(), where);
    if (!is_new)
      return wrong(where, fmt::format("the host {} is there already ({}): give each host once, "
                                      "with its number of workers as in {}:2",
                                      host.label(), first->second, host.label()));
    hosts_.push_back(std::move(host));
    return {};
  }
  std::vector<Host> take() { return std::move(hosts_); }
  bool empty() const { return hosts_.empty(); }

 private:
  std::vector<Host> hosts_;
  std::map<std::string, std::string> sources_;  // by label: where it was named
};

Result<int> parse_slots(const std::string& text, const std::string& where) {
  auto slots = parse_integer({text, "slots"}, 1, kWorkersPerNodeMax);
  if (!slots) return wrong(where, slots.error().message);
  return slots;
}

/// Reads "h1", "user@h1:8", "[fd77::1]:8".
Result<Host> parse_host(const std::string& entry, const std::string& where) {
  const std::size_t at = entry.rfind('@');
  const std::size_t begin = at == std::string::npos ? 0 : at + 1;
  const auto parts = host_and_port(entry.substr(begin));
  if (!parts || !is_host_name(parts->first) || begin == 1 ||
      (begin > 1 && !is_user(entry.substr(0, begin))))
    return wrong(where, fmt::format("{} is no host, expected HOST, HOST:WORKERS or "
                                    "USER@HOST:WORKERS",
                                    printable(entry)));
  Host host{entry.substr(0, begin) + parts->first, {}};
  if (parts->second.empty()) return host;
  const auto slots = parse_slots(parts->second, where);
  if (!slots) return slots.error();
  host.slots = *slots;
  return host;
}

Result<void> add_listed(const std::string& text, const std::string& where, HostList& list) {
  for (const std::string& entry : split(text, ',')) {
    auto host = parse_host(std::string{trimmed(entry, kBlanks)}, where);
    if (!host) return host.error();
    if (auto added = list.add(std::move(*host), where); !added) return added;
  }
  return {};
}

/// Reads a word behind a host: "slots=4". "max_slots=8" bounds what MPI may oversubscribe, and
/// means nothing here.
Result<void> read_word(const std::string& word, const std::string& where, Host& host) {
  const std::size_t equals = word.find('=');
  const std::string key = word.substr(0, equals);
  const bool max = key == "max_slots" || key == "max-slots";
  if (equals == std::string::npos || (key != "slots" && !max))
    return wrong(where,
                 fmt::format("{} means nothing here, expected HOST slots=N", printable(word)));
  const auto slots = parse_slots(word.substr(equals + 1), where);
  if (!slots) return slots.error();
  if (max) return {};
  if (host.slots) return wrong(where, "the number of workers is there twice");
  host.slots = *slots;
  return {};
}

Result<void> add_line(const std::string& line, const std::string& where, HostList& list) {
  if (line.find(',') != std::string::npos) return add_listed(line, where, list);
  std::size_t end = std::min(line.find_first_of(kBlanks), line.size());
  auto host = parse_host(line.substr(0, end), where);
  if (!host) return host.error();
  while (end < line.size()) {
    const std::size_t begin = line.find_first_not_of(kBlanks, end);
    end = std::min(line.find_first_of(kBlanks, begin), line.size());
    if (auto read = read_word(line.substr(begin, end - begin), where, *host); !read) return read;
  }
  return list.add(std::move(*host), where);
}

}  // namespace

std::string Host::label() const { return name.substr(name.rfind('@') + 1); }

Result<std::vector<Host>> parse_hosts(const Setting& setting) {
  HostList list;
  if (const auto added = add_listed(setting.text, setting.source, list); !added)
    return added.error();
  return list.take();
}

Result<std::vector<Host>> parse_hostfile(std::string_view text, const std::string& path) {
  HostList list;
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::string entry{trimmed(line.substr(0, line.find('#')), kBlanks)};
    if (entry.empty()) continue;
    const std::string where = fmt::format("{} line {}", path, number);
    if (const auto added = add_line(entry, where, list); !added) return added.error();
  }
  if (list.empty())
    return Error{Error::Kind::kInvalid,
                 path + " names no host, expected a line such as 'h1 slots=4' for each"};
  return list.take();
}

}  // namespace ddprun
