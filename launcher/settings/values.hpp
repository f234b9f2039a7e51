// Reads the values that the texts of options mean. Every error is of kind kInvalid, a sentence with
// the option's name, the value and what is accepted.
#pragma once

#include <chrono>
#include <functional>
#include <initializer_list>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/checkpoints/checkpoint_spec.hpp"
#include "agent/spec/launch_spec.hpp"
#include "base/endpoint.hpp"
#include "launcher/settings/arguments.hpp"

namespace ddprun {

/// Cuts `text` at the separators. There is at least one part, and parts may be empty.
std::vector<std::string> split(std::string_view text, char separator);

/// Reads seconds, with or without a fraction, or a time with a unit: "90s", "5m", "1.5h", "1d".
/// nullopt: it is none of these, negative, or more than 30 days.
std::optional<std::chrono::milliseconds> seconds_of(std::string_view text);

/// Cuts "host:port" and "[::1]:port" into host and port; the port is "" where there is none.
/// nullopt: a bracket or the port behind a colon is missing.
std::optional<std::pair<std::string, std::string>> host_and_port(const std::string& text);

/// Warns that a setting of the command line has no effect. A variable may be meant for other jobs,
/// so there is no warning of those.
void warn_no_effect(std::vector<std::string>& warnings, const Setting& setting,
                    const std::string& why);

/// Returns the setting under the name of a part of it, for messages: "--rdzv-conf is_host=false".
Setting named(Setting setting, const std::string& part);

/// Makes the error of a setting whose text is not as `expected`.
Error unexpected(const Setting& setting, const std::string& expected);

/// Reads a whole number from `least` to `most`.
Result<int> parse_integer(const Setting& setting, int least,
                          int most = std::numeric_limits<int>::max());

/// Reads the rank of one of `nodes` nodes.
Result<int> parse_node_rank(const Setting& setting, int nodes);

/// Reads a time as seconds_of() does. `positive`: 0 is not accepted.
Result<std::chrono::milliseconds> parse_seconds(const Setting& setting, bool positive = false);

/// Reads auto, off or seconds, as JobTerms has them.
Result<std::chrono::milliseconds> parse_hang_timeout(const Setting& setting);

/// Reads one of the choices of --on-hang.
OnHang parse_on_hang(const std::string& text);

/// Reads how many workers a node has: a number, auto, gpu or cpu. `cpus` and `gpus` tell how many
/// of these there are.
Result<int> parse_workers(const Setting& setting, const std::function<int()>& cpus,
                          const std::function<int()>& gpus);

/// How many nodes a job may have.
struct NodeRange {
  int min = 1;
  int max = 1;
};
/// Reads "4" or "2:4".
Result<NodeRange> parse_nodes(const Setting& setting);

/// Whether the text can be a host's name or address. No shell command and no option can be made of
/// it.
bool is_host_name(std::string_view text);

/// Checks those of the options that are set. Errors: kInvalid.
Result<void> check_host_names(const Settings& settings,
                              std::initializer_list<std::string_view> options);

/// Reads "host", "host:29400" and "[::1]:29400"; without a port it is `default_port`.
Result<Endpoint> parse_endpoint(const Setting& setting, int default_port);

/// Reads several of these with commas between them, at most kPlacesMax, none of them twice.
Result<std::vector<Endpoint>> parse_endpoints(const Setting& setting, int default_port);

/// Reads "8080", ":8080", "host:8080" and "[::1]:8080"; without a host it is the loopback address.
Result<Endpoint> parse_status_address(const Setting& setting);

/// Reads "SIGTERM,SIGUSR1", with or without SIG. Signals that no program can handle, or that are no
/// request to stop, are errors.
Result<std::vector<int>> parse_signals(const Setting& setting);

/// Reads the streams of each of `workers`: 0 none, 1 stdout, 2 stderr, 3 both. "3" is for all of
/// them, "0:3,12:1" by local rank.
Result<std::vector<Streams>> parse_streams(const Setting& setting, int workers);

/// Reads numbers from 1 to `most`, as in "4,4,2".
Result<std::vector<int>> parse_counts(const Setting& setting, int most);

/// Reads "100M:5": the size of a file in bytes, where K, M, G and T are powers of 1024, and the
/// number of files. No file is less than 256 bytes, and there are at least two. Not set: no
/// rotation.
Result<RotationRule> parse_rotation(const Setting& setting);

/// Reads local ranks, as in "0,2,11"; nullopt when the option is not set.
Result<std::optional<std::set<int>>> parse_ranks(const Setting& setting);

/// Returns the texts between commas that are not empty; ",," stands for a comma in a text.
std::vector<std::string> parse_texts(const Setting& setting);

/// Reads paths of folders, as in "/data,/scratch". nullopt: the option is not set, "off" or "0"; no
/// folder: it is "on" or "1".
Result<std::optional<std::vector<std::string>>> parse_check_folders(const Setting& setting);

/// Reads two folders, as in "out=/shared/run7", and makes full names of them. nullopt: the option
/// is not set.
Result<std::optional<CheckpointSpec>> parse_checkpoints(
    const Setting& setting, const std::function<std::string()>& working_directory);

/// Reads names of Python modules, as in "torch,my.package". nullopt: the option is not set; no
/// name: it is "auto".
Result<std::optional<std::vector<std::string>>> parse_modules(const Setting& setting);

}  // namespace ddprun
