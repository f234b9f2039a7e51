// What the texts of options mean. Every error is a sentence with the option's name, the value and
// what is accepted.
#pragma once

#include <chrono>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/launch_spec.hpp"
#include "launcher/settings/arguments.hpp"

namespace ddprun {

inline constexpr int kPortMax = 65'535;

/// The parts of `text` between separators; at least one, which may be empty.
std::vector<std::string> split(std::string_view text, char separator);

/// The time that `text` is in seconds, with or without a fraction; nullopt when it is no number, is
/// negative, or is more than 30 days.
std::optional<std::chrono::milliseconds> seconds_of(std::string_view text);

/// The host and the port, "" if there is none, of "host:port" and "[::1]:port".
std::optional<std::pair<std::string, std::string>> host_and_port(const std::string& text);

/// Warns that a setting of the command line has no effect. A variable may be meant for other jobs,
/// so nothing is said of those.
void warn_no_effect(std::vector<std::string>& warnings, const Setting& setting,
                    const std::string& why);

/// The error of a setting whose text is not as `expected`.
Error unexpected(const Setting& setting, const std::string& expected);

Result<int> parse_integer(const Setting& setting, int least,
                          int most = std::numeric_limits<int>::max());

/// Up to 30 days. `positive`: 0 is not accepted.
Result<std::chrono::milliseconds> parse_seconds(const Setting& setting, bool positive = false);

struct NodeRange {
  int min = 1;
  int max = 1;
};
/// "4" or "2:4".
Result<NodeRange> parse_nodes(const Setting& setting);

/// "host", "host:29400", "[::1]:29400"; without a port: `default_port`.
Result<Endpoint> parse_endpoint(const Setting& setting, int default_port);

/// "SIGTERM,SIGUSR1", with or without SIG.
Result<std::vector<int>> parse_signals(const Setting& setting);

/// For each of `workers`: 0 none, 1 stdout, 2 stderr, 3 both; "3" or by local rank "0:3,12:1".
Result<std::vector<Streams>> parse_streams(const Setting& setting, int workers);

/// "4,4,2": numbers from 1 to `most`.
Result<std::vector<int>> parse_counts(const Setting& setting, int most);

/// "0,2,11"; nullopt when the option is not set.
Result<std::optional<std::set<int>>> parse_ranks(const Setting& setting);

/// Texts between commas; ",," is a comma in a text.
std::vector<std::string> parse_texts(const Setting& setting);

/// "torch,my.package": names of Python modules; nullopt when the option is not set, none for
/// "auto".
Result<std::optional<std::vector<std::string>>> parse_modules(const Setting& setting);

}  // namespace ddprun
