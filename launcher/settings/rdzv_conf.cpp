#include "launcher/settings/rdzv_conf.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/numbers.hpp"
#include "base/text.hpp"
#include "launcher/settings/values.hpp"
#include "launcher/settings/words.hpp"
#include "rendezvous/messages/message_limits.hpp"

namespace ddprun {

namespace {

using std::chrono::milliseconds;

// What the coordinator takes.
constexpr milliseconds kHeartbeatMin{kHeartbeatTimeoutMsMin};
constexpr milliseconds kHeartbeatMax{kTimeoutMsMax};

enum class ConfKind { kSeconds, kPositiveSeconds, kCount, kSwitch, kText, kProtocol };

struct ConfKey {
  std::string_view name;
  ConfKind kind;
  bool used = true;       // false: ddprun accepts it and has no use for it
  bool for_etcd = false;  // except with etcd
};

constexpr std::array kConfKeys = {
    ConfKey{"join_timeout", ConfKind::kPositiveSeconds},
    ConfKey{"last_call_timeout", ConfKind::kSeconds},
    ConfKey{"heartbeat_timeout", ConfKind::kPositiveSeconds},
    ConfKey{"keep_alive_interval", ConfKind::kPositiveSeconds},
    ConfKey{"keep_alive_max_attempt", ConfKind::kCount},
    ConfKey{"is_host", ConfKind::kSwitch},
    ConfKey{"timeout", ConfKind::kPositiveSeconds},
    ConfKey{"close_timeout", ConfKind::kPositiveSeconds, false},
    ConfKey{"cas_backoff_max_seconds", ConfKind::kSeconds, false},
    ConfKey{"store_type", ConfKind::kText, false},
    ConfKey{"read_timeout", ConfKind::kPositiveSeconds, false},
    ConfKey{"use_libuv", ConfKind::kSwitch, false},
    ConfKey{"rank", ConfKind::kCount, false},
    ConfKey{"protocol", ConfKind::kProtocol, false, true},
    ConfKey{"ssl_cert", ConfKind::kText, false, true},
    ConfKey{"ssl_cert_key", ConfKind::kText, false, true},
    ConfKey{"ca_cert", ConfKind::kText, false, true},
    ConfKey{"cert", ConfKind::kText, false, true},
    ConfKey{"key", ConfKind::kText, false, true},
    ConfKey{"cacert", ConfKind::kText, false, true},
    ConfKey{"etcd_prefix", ConfKind::kText, false, true},
    ConfKey{"prefix", ConfKind::kText, false, true},
};

constexpr std::string_view kBlanks = " \t\r\n\v\f";

/// Takes away the quotes that scripts put around the value without a shell that would remove them.
std::string_view unquoted(std::string_view text) {
  const bool quoted = text.size() >= 2 && (text.front() == '\'' || text.front() == '"') &&
                      text.front() == text.back();
  return quoted ? trimmed(text.substr(1, text.size() - 2), kBlanks) : text;
}

/// Reads the words that torchrun takes for a switch.
std::optional<bool> conf_switch(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  for (const char* word : {"1", "true", "t", "yes", "y"})
    if (text == word) return true;
  for (const char* word : {"0", "false", "f", "no", "n"})
    if (text == word) return false;
  return std::nullopt;
}

/// Says what is expected of a value of `kind`, when `value` is not so.
std::optional<std::string> mismatch(ConfKind kind, const std::string& value) {
  switch (kind) {
    case ConfKind::kSeconds:
    case ConfKind::kPositiveSeconds: {
      const auto time = seconds_of(value);
      if (!time) return "expected seconds";
      if (kind == ConfKind::kPositiveSeconds && time->count() == 0) return "expected more than 0 s";
      return std::nullopt;
    }
    case ConfKind::kCount:
      if (const auto count = parse_number<int>(value); count && *count >= 0) return std::nullopt;
      return "expected a whole number from 0 up";
    case ConfKind::kSwitch:
      if (conf_switch(value)) return std::nullopt;
      return "expected true or false";
    case ConfKind::kProtocol:
      if (value == "http" || value == "https") return std::nullopt;
      return "expected http or https";
    case ConfKind::kText:
      return std::nullopt;
  }
  return std::nullopt;
}

const ConfKey* find_key(std::string_view name) {
  const auto* key = std::ranges::find(kConfKeys, name, &ConfKey::name);
  return key == kConfKeys.end() ? nullptr : key;
}

/// The key that was meant; "" where it is like none: torchrun takes any.
std::string_view meant_key(std::string_view name) {
  std::vector<std::string_view> names;
  names.reserve(std::size(kConfKeys));
  for (const ConfKey& key : kConfKeys) names.push_back(key.name);
  return closest_word(name, names);
}

Result<std::map<std::string, std::string>> conf_entries(const Setting& setting) {
  std::map<std::string, std::string> entries;
  const std::string_view text = unquoted(trimmed(setting.text, kBlanks));
  if (text.empty()) return entries;
  for (const std::string& entry : split(text, ',')) {
    const std::size_t equals = std::min(entry.find('='), entry.size());
    const std::string name{trimmed(std::string_view{entry}.substr(0, equals), kBlanks)};
    const std::string value{trimmed(
        std::string_view{entry}.substr(equals).substr(equals < entry.size() ? 1 : 0), kBlanks)};
    if (name.empty() || value.empty())
      return unexpected(setting, "expected KEY=VALUE[,KEY=VALUE...]");
    const ConfKey* key = find_key(name);
    const std::string_view meant = key == nullptr ? meant_key(name) : "";
    if (!meant.empty())
      return unexpected(setting,
                        fmt::format("there is no key '{}'; did you mean {}?", name, meant));
    const auto wrong = key == nullptr ? std::nullopt : mismatch(key->kind, value);
    if (wrong)
      return unexpected(setting, fmt::format("value '{}' of '{}': {}", value, name, *wrong));
    entries[name] = value;
  }
  return entries;
}

}  // namespace

Result<RendezvousConf> parse_rdzv_conf(const Setting& setting) {
  const auto entries = conf_entries(setting);
  if (!entries) return entries.error();
  const auto time = [&](const char* key) -> std::optional<milliseconds> {
    const auto entry = entries->find(key);
    return entry == entries->end() ? std::nullopt : seconds_of(entry->second);
  };
  RendezvousConf conf;
  conf.join = time("join_timeout");
  if (!conf.join) conf.join = time("timeout");
  conf.last_call = time("last_call_timeout");
  conf.heartbeat = time("heartbeat_timeout");
  const auto interval = time("keep_alive_interval");
  const auto attempts = entries->find("keep_alive_max_attempt");
  if (interval || attempts != entries->end())
    conf.heartbeat =
        interval.value_or(milliseconds{5'000}) *
        (attempts == entries->end() ? 3 : std::max(1, *parse_number<int>(attempts->second)));
  if (conf.heartbeat && (*conf.heartbeat < kHeartbeatMin || *conf.heartbeat > kHeartbeatMax))
    return unexpected(setting, fmt::format("a node would be lost after {} s without a heartbeat: "
                                           "expected 0.1 s to 30 days",
                                           static_cast<double>(conf.heartbeat->count()) / 1000));
  if (const auto host = entries->find("is_host"); host != entries->end())
    conf.is_host = conf_switch(host->second);
  const auto text = [&](const char* name, const char* other) -> std::string {
    for (const char* key : {name, other})
      if (const auto entry = entries->find(key); entry != entries->end()) return entry->second;
    return "";
  };
  conf.tls = text("protocol", "") == "https";
  conf.ca_file = text("cacert", "ca_cert");
  conf.cert_file = text("cert", "ssl_cert");
  conf.key_file = text("key", "ssl_cert_key");
  conf.prefix = text("prefix", "etcd_prefix");
  for (const auto& [name, value] : *entries) {
    const ConfKey* const key = find_key(name);
    std::string& list = key == nullptr ? conf.unknown : key->for_etcd ? conf.for_etcd : conf.unused;
    if (key == nullptr || !key->used) list.append(list.empty() ? "" : ", ").append(name);
  }
  return conf;
}

}  // namespace ddprun
