// What `ddprun doctor --bench` has measured, as plain data. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace ddprun {

/// How long one CPU needs for a piece of work that is the same everywhere, in its best try.
struct CpuSpeed {
  int cpu = 0;
  std::string kind;  // CPUs of another kind may be built to be slower: "atom", "446"; "": not known
  double wall_ms = 0;
  double cpu_ms = 0;  // the part of it that the CPU has worked; others took the rest
};

/// How fast the CPUs of one NUMA node read and write memory, in their best try.
struct MemorySpeed {
  int numa_node = 0;
  int threads = 0;
  std::int64_t bytes = 0;  // the size of the arrays together
  double gb_per_s = 0;     // in 1e9 bytes
};

struct NodeSpeeds {
  std::string node;
  std::string error;  // why it could not be measured
  std::vector<CpuSpeed> cpus;
  std::vector<MemorySpeed> memory;
};

/// How fast two nodes reach each other by one TCP connection at a time.
struct LinkSpeed {
  std::string from;
  std::string to;
  std::string error;                       // why it could not be measured
  std::optional<double> rtt_us;            // the median of the round trips of one byte
  std::optional<double> there_mbit_per_s;  // nullopt: packets take too long for a short measurement
  std::optional<double> back_mbit_per_s;
};

struct Measurements {
  std::vector<NodeSpeeds> nodes;
  std::vector<LinkSpeed> links;
  std::size_t pairs = 0;  // the pairs that there are, measured or not
};

/// Takes two measurements of one thing, and returns each part of them that is better. An error
/// gives way to a figure.
NodeSpeeds better_of(NodeSpeeds first, const NodeSpeeds& second);
LinkSpeed better_of(LinkSpeed first, const LinkSpeed& second);

// Measurements as JSON, in both directions.

nlohmann::json to_json(const NodeSpeeds& speeds);
nlohmann::json to_json(const LinkSpeed& speed);
nlohmann::json to_json(const Measurements& measurements);

/// Reads what to_json() has made. These throw fields::Unfit.
NodeSpeeds node_speeds_of(const nlohmann::json& from);
LinkSpeed link_speed_of(const nlohmann::json& from);

/// One line without a newline, for other processes of this node.
std::string to_line(const NodeSpeeds& speeds);
std::string to_line(const LinkSpeed& speed);

/// Reads such a line. Errors: kInvalid.
Result<NodeSpeeds> parse_node_speeds(std::string_view text);
Result<LinkSpeed> parse_link_speed(std::string_view text);

}  // namespace ddprun
