#include "launcher/settings/values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/asio/ip/address_v6.hpp>
#include <cctype>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>

#include "base/failure.hpp"
#include "base/numbers.hpp"
#include "rendezvous/messages/job_terms.hpp"
#include "rendezvous/messages/message_limits.hpp"

namespace ddprun {

namespace {

using std::chrono::milliseconds;

constexpr double kSecondsMax = 30.0 * 86'400;

std::optional<Streams> streams(std::string_view text) {
  if (text.size() != 1 || text[0] < '0' || text[0] > '3') return std::nullopt;
  const int bits = text[0] - '0';
  return Streams{(bits & 1) != 0, (bits & 2) != 0};
}

constexpr std::uint64_t kLogFileBytesMin = 256;
constexpr int kLogFilesMax = 1000;

/// Reads "4096", "100M" or "100MB".
std::optional<std::uint64_t> bytes_of(std::string_view text) {
  constexpr std::string_view kUnits = "KMGT";
  if (text.ends_with('B') || text.ends_with('b')) text.remove_suffix(1);
  int shift = 0;
  if (!text.empty()) {
    const auto unit =
        kUnits.find(static_cast<char>(std::toupper(static_cast<unsigned char>(text.back()))));
    if (unit != std::string_view::npos) {
      shift = 10 * (static_cast<int>(unit) + 1);
      text.remove_suffix(1);
    }
  }
  const auto number = parse_number<std::uint64_t>(text);
  if (!number || *number > (std::uint64_t{1} << 62) >> shift) return std::nullopt;
  return *number << shift;
}

/// How many seconds the unit has; 0: it is none.
double seconds_in(char unit) {
  switch (unit) {
    case 's':
      return 1;
    case 'm':
      return 60;
    case 'h':
      return 3600;
    case 'd':
      return 86'400;
    default:
      return 0;
  }
}

std::optional<int> signal_number(std::string name) {
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::toupper(c); });
  if (name.starts_with("SIG")) name.erase(0, 3);
  return signal_of_abbreviation(name);
}

}  // namespace

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::optional<milliseconds> seconds_of(std::string_view text) {
  const double unit = text.empty() ? 0 : seconds_in(text.back());
  if (unit > 0) text.remove_suffix(1);
  const auto number = parse_number<double>(text);
  const double seconds = number ? *number * (unit > 0 ? unit : 1) : -1;
  if (!(seconds >= 0) || seconds > kSecondsMax) return std::nullopt;
  return milliseconds{static_cast<std::int64_t>(seconds * 1000)};
}

std::optional<std::pair<std::string, std::string>> host_and_port(const std::string& text) {
  if (text.starts_with('[')) {
    const std::size_t close = text.find(']');
    if (close == std::string::npos) return std::nullopt;
    const std::string rest = text.substr(close + 1);
    if (!rest.empty() && (rest[0] != ':' || rest.size() == 1)) return std::nullopt;
    return {{text.substr(1, close - 1), rest.empty() ? "" : rest.substr(1)}};
  }
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) return {{text, ""}};
  if (text.find(':', colon + 1) != std::string::npos)
    return {{text, ""}};  // an IPv6 address without brackets has no port
  if (colon + 1 == text.size()) return std::nullopt;
  return {{text.substr(0, colon), text.substr(colon + 1)}};
}

void warn_no_effect(std::vector<std::string>& warnings, const Setting& setting,
                    const std::string& why) {
  if (setting.given && setting.source.starts_with('-'))
    warnings.push_back(setting.source + " has no effect: " + why);
}

Setting named(Setting setting, const std::string& part) {
  setting.source += " " + part;
  return setting;
}

Error unexpected(const Setting& setting, const std::string& expected) {
  return {Error::Kind::kInvalid, setting.source + " '" + setting.text + "': " + expected};
}

Result<int> parse_integer(const Setting& setting, int least, int most) {
  const auto value = parse_number<int>(setting.text);
  if (value && *value >= least && *value <= most) return *value;
  return unexpected(setting,
                    most == std::numeric_limits<int>::max()
                        ? fmt::format("expected a whole number from {} up", least)
                        : fmt::format("expected a whole number from {} to {}", least, most));
}

Result<int> parse_node_rank(const Setting& setting, int nodes) {
  auto rank = parse_integer(setting, 0, nodes - 1);
  if (rank || nodes > 1) return rank;
  return unexpected(setting, "--nnodes is 1, so the only node rank is 0");
}

Result<milliseconds> parse_seconds(const Setting& setting, bool positive) {
  const auto time = seconds_of(setting.text);
  if (!time || (positive && time->count() == 0))
    return unexpected(setting,
                      fmt::format("expected a time, {} 0 and up to 30 days: seconds (90) or "
                                  "with a unit (90s, 5m, 2h, 1d)",
                                  positive ? "more than" : "from"));
  return *time;
}

Result<milliseconds> parse_hang_timeout(const Setting& setting) {
  if (setting.text == "auto") return kHangTimeoutAuto;
  if (setting.text == "off") return kHangTimeoutOff;
  auto time = parse_seconds(setting, true);
  if (time) return time;
  return unexpected(setting,
                    "expected auto, off, or a time of more than 0 and up to 30 days: "
                    "seconds (90) or with a unit (90s, 5m, 2h, 1d)");
}

OnHang parse_on_hang(const std::string& text) {
  if (text == "restart") return OnHang::kRestart;
  return text == "stop" ? OnHang::kStop : OnHang::kReport;
}

Result<int> parse_workers(const Setting& setting, const std::function<int()>& cpus,
                          const std::function<int()>& gpus) {
  if (setting.text == "cpu") return cpus();
  if (setting.text == "gpu" || setting.text == "auto") {
    if (const int count = gpus(); count > 0) return count;
    if (setting.text == "auto") return cpus();
    return unexpected(setting,
                      "no GPU is visible here (see nvidia-smi and CUDA_VISIBLE_DEVICES); give a "
                      "number, or cpu");
  }
  auto count = parse_integer(setting, 1, kWorkersPerNodeMax);
  if (count) return count;
  return unexpected(setting, fmt::format("expected a whole number from 1 to {}, auto, gpu or cpu",
                                         kWorkersPerNodeMax));
}

Result<NodeRange> parse_nodes(const Setting& setting) {
  const std::vector<std::string> parts = split(setting.text, ':');
  const auto min = parse_number<int>(parts.front());
  const auto max = parse_number<int>(parts.back());
  if (parts.size() > 2 || !min || !max)
    return unexpected(setting, "expected a number of nodes, or MIN:MAX");
  if (*min < 1 || *max < *min)
    return unexpected(setting, "expected at least 1 node, and MIN not above MAX");
  return NodeRange{*min, *max};
}

bool is_host_name(std::string_view text) {
  const auto fits = [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view{"-._:%"}.find(static_cast<char>(c)) != std::string_view::npos;
  };
  if (text.empty() || text.front() == '-' || !std::ranges::all_of(text, fits)) return false;
  boost::system::error_code no_address;
  if (text.find_first_of(":%") != std::string_view::npos)
    boost::asio::ip::make_address_v6(std::string{text}, no_address);
  return !no_address;
}

Result<void> check_host_names(const Settings& settings,
                              std::initializer_list<std::string_view> options) {
  for (const std::string_view option : options)
    if (const Setting& host = settings[option]; !host.text.empty() && !is_host_name(host.text))
      return unexpected(host, "expected a host name or an address");
  return {};
}

Result<Endpoint> parse_endpoint(const Setting& setting, int default_port) {
  if (const std::size_t scheme = setting.text.find("://"); scheme != std::string::npos)
    return unexpected(setting, "expected HOST, HOST:PORT or [IPv6]:PORT, without " +
                                   setting.text.substr(0, scheme + 3));
  const auto parts = host_and_port(setting.text);
  if (!parts || !is_host_name(parts->first))
    return unexpected(setting, "expected HOST, HOST:PORT or [IPv6]:PORT");
  if (parts->second.empty())
    return Endpoint{parts->first, static_cast<std::uint16_t>(default_port)};
  const auto port = parse_number<int>(parts->second);
  if (!port || *port < 0 || *port > kPortMax)
    return unexpected(setting,
                      fmt::format("expected a port from 0 to {} after the host", kPortMax));
  return Endpoint{parts->first, static_cast<std::uint16_t>(*port)};
}

Result<std::vector<Endpoint>> parse_endpoints(const Setting& setting, int default_port) {
  std::vector<Endpoint> endpoints;
  for (const std::string& text : split(setting.text, ',')) {
    if (text.empty()) return unexpected(setting, "expected a host before and after each comma");
    auto endpoint = parse_endpoint({text, setting.source, true}, default_port);
    if (!endpoint) return endpoint.error();
    if (std::ranges::count(endpoints, *endpoint) > 0)
      return unexpected(setting, text_of(*endpoint) + " is in it twice");
    endpoints.push_back(std::move(*endpoint));
  }
  if (endpoints.size() > kPlacesMax)
    return unexpected(setting, fmt::format("expected at most {} places", kPlacesMax));
  return endpoints;
}

Result<Endpoint> parse_status_address(const Setting& setting) {
  constexpr char kExpected[] = "expected PORT, HOST:PORT or [IPv6]:PORT";
  Setting with_host = setting;
  const bool port_alone = parse_number<int>(setting.text).has_value();
  if (port_alone) with_host.text = "127.0.0.1:" + setting.text;
  if (setting.text.starts_with(':')) with_host.text = "127.0.0.1" + setting.text;
  const auto parts = host_and_port(with_host.text);
  if (!parts || parts->second.empty()) return unexpected(setting, kExpected);
  if (!is_host_name(parts->first)) return unexpected(setting, kExpected);
  auto endpoint = parse_endpoint({with_host.text, setting.source, true}, 0);
  if (!endpoint) return unexpected(setting, fmt::format("expected a port from 0 to {}", kPortMax));
  return endpoint;
}

Result<std::vector<int>> parse_signals(const Setting& setting) {
  std::vector<int> signals;
  for (const std::string& name : split(setting.text, ',')) {
    const auto signal = signal_number(name);
    if (!signal)
      return unexpected(setting,
                        "there is no signal '" + name + "', expected names like SIGTERM,SIGINT");
    if (*signal == SIGKILL || *signal == SIGSTOP)
      return unexpected(setting, name + " cannot be handled by any program");
    if (*signal == SIGCHLD || *signal == SIGPIPE || *signal == SIGSEGV || *signal == SIGBUS ||
        *signal == SIGFPE || *signal == SIGILL)
      return unexpected(setting, name + " is not a request to stop");
    signals.push_back(*signal);
  }
  return signals;
}

Result<std::vector<Streams>> parse_streams(const Setting& setting, int workers) {
  constexpr char kExpected[] =
      "expected 0 (none), 1 (stdout), 2 (stderr) or 3 (both), or such values by local rank: "
      "0:3,1:2";
  if (const auto all = streams(setting.text)) return std::vector<Streams>(workers, *all);
  std::vector<Streams> by_rank(workers);
  for (const std::string& entry : split(setting.text, ',')) {
    const std::size_t colon = entry.find(':');
    const auto rank = parse_number<int>(std::string_view{entry}.substr(0, colon));
    const auto value = colon == std::string::npos
                           ? std::nullopt
                           : streams(std::string_view{entry}.substr(colon + 1));
    if (!rank || *rank < 0 || !value) return unexpected(setting, kExpected);
    if (*rank < workers) by_rank[*rank] = *value;  // a higher one may be meant for other nodes
  }
  return by_rank;
}

Result<std::vector<int>> parse_counts(const Setting& setting, int most) {
  std::vector<int> counts;
  for (const std::string& text : split(setting.text, ',')) {
    const auto count = parse_number<int>(text);
    if (!count || *count < 1 || *count > most)
      return unexpected(setting, fmt::format("expected numbers from 1 to {}, as in 4,4,2", most));
    counts.push_back(*count);
  }
  return counts;
}

Result<RotationRule> parse_rotation(const Setting& setting) {
  if (!setting.given) return RotationRule{};
  const std::size_t colon = setting.text.find(':');
  const auto size = bytes_of(std::string_view{setting.text}.substr(0, colon));
  const auto count = colon == std::string::npos
                         ? std::nullopt
                         : parse_number<int>(std::string_view{setting.text}.substr(colon + 1));
  if (!size || *size < kLogFileBytesMin || !count || *count < 2 || *count > kLogFilesMax)
    return unexpected(
        setting, fmt::format("expected the size of a file, from {} bytes on, and the number of "
                             "files, from 2 to {}, as in 100M:5",
                             kLogFileBytesMin, kLogFilesMax));
  return RotationRule{*size, *count};
}

Result<std::optional<std::set<int>>> parse_ranks(const Setting& setting) {
  if (setting.text.empty()) return std::optional<std::set<int>>{};
  std::set<int> ranks;
  for (const std::string& text : split(setting.text, ',')) {
    const auto rank = parse_number<int>(text);
    if (!rank || *rank < 0) return unexpected(setting, "expected local ranks, as in 0,1");
    ranks.insert(*rank);
  }
  return std::optional{std::move(ranks)};
}

std::vector<std::string> parse_texts(const Setting& setting) {
  std::vector<std::string> texts;
  std::string current;
  const std::string& text = setting.text;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != ',') {
      current += text[i];
    } else if (i + 1 < text.size() && text[i + 1] == ',') {
      current += text[i++];
    } else {
      texts.push_back(std::exchange(current, {}));
    }
  }
  texts.push_back(current);
  std::erase(texts, "");
  return texts;
}

Result<std::optional<std::vector<std::string>>> parse_check_folders(const Setting& setting) {
  using Folders = std::optional<std::vector<std::string>>;
  if (!setting.given || setting.text == "0" || setting.text == "off") return Folders{};
  if (setting.text == kFlagIsOn || setting.text == "1") return Folders{std::in_place};
  std::vector<std::string> folders = parse_texts(setting);
  if (folders.empty()) return unexpected(setting, "expected folders, as in /data,/scratch");
  return Folders{std::move(folders)};
}

Result<std::optional<CheckpointSpec>> parse_checkpoints(
    const Setting& setting, const std::function<std::string()>& working_directory) {
  if (setting.text.empty()) return std::optional<CheckpointSpec>{};
  const auto equals = setting.text.find('=');
  const bool has_both =
      equals != std::string::npos && equals > 0 && equals + 1 < setting.text.size();
  if (!has_both)
    return unexpected(setting,
                      "expected the program's folder and one on disk, as in out=/shared/run7");
  const auto full_name = [&](std::string name) {
    const auto path = (std::filesystem::path{working_directory()} / name).lexically_normal();
    name = path.string();
    if (name.size() > 1 && name.back() == '/') name.pop_back();
    return name;
  };
  return std::optional{CheckpointSpec{full_name(setting.text.substr(0, equals)),
                                      full_name(setting.text.substr(equals + 1))}};
}

Result<std::optional<std::vector<std::string>>> parse_modules(const Setting& setting) {
  using Modules = std::optional<std::vector<std::string>>;
  if (!setting.given) return Modules{};
  if (setting.text == "auto") return Modules{std::in_place};
  std::vector<std::string> modules = parse_texts(setting);
  const auto is_name = [](const std::string& text) {
    const auto fits = [](unsigned char c) {
      return std::isalnum(c) != 0 || c == '_' || c == '.' || c >= 0x80;
    };
    return std::ranges::all_of(text, fits) && text.front() != '.' && text.back() != '.' &&
           text.find("..") == std::string::npos;
  };
  if (modules.empty() || !std::ranges::all_of(modules, is_name))
    return unexpected(setting, "expected names of Python modules, as in torch,numpy, or auto");
  return Modules{std::move(modules)};
}

}  // namespace ddprun
