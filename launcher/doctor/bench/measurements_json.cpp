#include "launcher/doctor/bench/measurements_json.hpp"

#include <cstdint>
#include <exception>
#include <utility>

#include "rendezvous/messages/json_fields.hpp"

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

const json& part_of(const json& from, const char* name) {
  const auto found = from.find(name);
  if (found == from.end()) throw fields::Unfit{std::string{"'"} + name + "' is missing"};
  return *found;
}

std::string text_of(const json& from, const char* name) {
  return fields::text_from(part_of(from, name), name);
}

std::string text_if_there(const json& from, const char* name) {
  return from.contains(name) ? text_of(from, name) : "";
}

template <typename Int>
Int count_of(const json& from, const char* name) {
  const auto value = fields::integer_from<Int>(part_of(from, name), name);
  if (value < 0) fields::unfit(name, from[name], "a number from 0 up");
  return value;
}

/// A figure that is no number, or below 0, or beyond all machines, would make nonsense of all
/// comparisons.
double figure_of(const json& from, const char* name) {
  constexpr double kFigureMax = 1e15;
  const double value = fields::number_from(part_of(from, name), name);
  if (!(value >= 0 && value <= kFigureMax)) fields::unfit(name, from[name], "a figure up to 1e15");
  return value;
}

void expect_object(const json& from, const char* name) {
  if (!from.is_object()) fields::unfit(name, from, "an object");
}

CpuSpeed cpu_speed_of(const json& from) {
  expect_object(from, "cpus");
  return {.cpu = count_of<int>(from, "cpu"),
          .kind = text_if_there(from, "kind"),
          .wall_ms = figure_of(from, "wall_ms"),
          .cpu_ms = figure_of(from, "cpu_ms")};
}

MemorySpeed memory_speed_of(const json& from) {
  expect_object(from, "memory");
  return {.numa_node = count_of<int>(from, "numa_node"),
          .threads = count_of<int>(from, "threads"),
          .bytes = count_of<std::int64_t>(from, "bytes"),
          .gb_per_s = figure_of(from, "gb_per_s")};
}

const json& list_in(const json& from, const char* name) {
  const json& list = part_of(from, name);
  if (!list.is_array()) fields::unfit(name, list, "a list");
  return list;
}

void add(const char* name, const std::optional<double>& value, json& out) {
  if (value) out[name] = *value;
}

void read(const char* name, const json& from, std::optional<double>& value) {
  if (from.contains(name)) value = figure_of(from, name);
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

/// Reads a line by `read`, which throws what the readers of JSON throw.
template <typename T>
Result<T> parse_as_measurement(std::string_view text, T (*read)(const json&)) try {
  return read(json::parse(text));
} catch (const std::exception& e) {
  return invalid(std::string{"this is no measurement: "} + e.what());
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
  expect_object(from, "speeds");
  NodeSpeeds speeds{.node = text_of(from, "node"), .error = text_if_there(from, "error")};
  for (const json& cpu : list_in(from, "cpus")) speeds.cpus.push_back(cpu_speed_of(cpu));
  for (const json& memory : list_in(from, "memory"))
    speeds.memory.push_back(memory_speed_of(memory));
  return speeds;
}

LinkSpeed link_speed_of(const json& from) {
  expect_object(from, "link");
  LinkSpeed speed{.from = text_of(from, "from"),
                  .to = text_of(from, "to"),
                  .error = text_if_there(from, "error")};
  read("rtt_us", from, speed.rtt_us);
  read("there_mbit_per_s", from, speed.there_mbit_per_s);
  read("back_mbit_per_s", from, speed.back_mbit_per_s);
  return speed;
}

std::string to_line(const NodeSpeeds& speeds) { return line_of_json(to_json(speeds)); }
std::string to_line(const LinkSpeed& speed) { return line_of_json(to_json(speed)); }

Result<NodeSpeeds> parse_node_speeds(std::string_view text) {
  return parse_as_measurement(text, node_speeds_of);
}

Result<LinkSpeed> parse_link_speed(std::string_view text) {
  return parse_as_measurement(text, link_speed_of);
}

}  // namespace ddprun
