#include "launcher/doctor/bench/measurements_json.hpp"

#include <cmath>
#include <utility>

namespace ddprun {

namespace {

using nlohmann::json;

json to_json(const CpuSpeed& cpu) {
  json out = {{"cpu", cpu.cpu}, {"wall_ms", cpu.wall_ms}, {"cpu_ms", cpu.cpu_ms}};
  if (!cpu.kind.empty()) out["kind"] = cpu.kind;
  return out;
}

json to_json(const MemorySpeed& memory) {
  return {{"numa_node", memory.numa_node},
          {"threads", memory.threads},
          {"bytes", memory.bytes},
          {"gb_per_s", memory.gb_per_s}};
}

/// A figure that is no number, or below 0, would make nonsense of all comparisons.
double figure_of(const json& from) {
  const double value = from.get<double>();
  if (!std::isfinite(value) || value < 0)
    throw json::other_error::create(502, "a figure is expected", &from);
  return value;
}

CpuSpeed cpu_speed_of(const json& from) {
  return {.cpu = from.at("cpu"),
          .kind = from.value("kind", ""),
          .wall_ms = figure_of(from.at("wall_ms")),
          .cpu_ms = figure_of(from.at("cpu_ms"))};
}

MemorySpeed memory_speed_of(const json& from) {
  return {.numa_node = from.at("numa_node"),
          .threads = from.at("threads"),
          .bytes = from.at("bytes"),
          .gb_per_s = figure_of(from.at("gb_per_s"))};
}

void add(const char* name, const std::optional<double>& value, json& out) {
  if (value) out[name] = *value;
}

void read(const char* name, const json& from, std::optional<double>& value) {
  if (from.contains(name)) value = figure_of(from.at(name));
}

template <typename T>
json list_of(const std::vector<T>& values) {
  json list = json::array();
  for (const T& value : values) list.push_back(to_json(value));
  return list;
}

std::string line_of_json(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

Error no_measurement(const char* why) {
  return invalid(std::string{"this is no measurement: "} + why);
}

}  // namespace

json to_json(const NodeSpeeds& speeds) {
  json out = {{"node", speeds.node}, {"cpus", list_of(speeds.cpus)}};
  out["memory"] = list_of(speeds.memory);
  if (!speeds.error.empty()) out["error"] = speeds.error;
  return out;
}

json to_json(const LinkSpeed& speed) {
  json out = {{"from", speed.from}, {"to", speed.to}};
  if (!speed.error.empty()) out["error"] = speed.error;
  add("rtt_us", speed.rtt_us, out);
  add("there_mbit_per_s", speed.there_mbit_per_s, out);
  add("back_mbit_per_s", speed.back_mbit_per_s, out);
  return out;
}

json to_json(const Measurements& measurements) {
  return {{"nodes", list_of(measurements.nodes)},
          {"links", list_of(measurements.links)},
          {"pairs", measurements.pairs}};
}

NodeSpeeds node_speeds_of(const json& from) {
  NodeSpeeds speeds{.node = from.at("node"), .error = from.value("error", "")};
  for (const json& cpu : from.at("cpus")) speeds.cpus.push_back(cpu_speed_of(cpu));
  for (const json& memory : from.at("memory")) speeds.memory.push_back(memory_speed_of(memory));
  return speeds;
}

LinkSpeed link_speed_of(const json& from) {
  LinkSpeed speed{.from = from.at("from"), .to = from.at("to"), .error = from.value("error", "")};
  read("rtt_us", from, speed.rtt_us);
  read("there_mbit_per_s", from, speed.there_mbit_per_s);
  read("back_mbit_per_s", from, speed.back_mbit_per_s);
  return speed;
}

std::string to_line(const NodeSpeeds& speeds) { return line_of_json(to_json(speeds)); }
std::string to_line(const LinkSpeed& speed) { return line_of_json(to_json(speed)); }

Result<NodeSpeeds> parse_node_speeds(std::string_view text) try {
  return node_speeds_of(json::parse(text));
} catch (const json::exception& e) {
  return no_measurement(e.what());
}

Result<LinkSpeed> parse_link_speed(std::string_view text) try {
  return link_speed_of(json::parse(text));
} catch (const json::exception& e) {
  return no_measurement(e.what());
}

}  // namespace ddprun
