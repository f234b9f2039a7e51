#include "launcher/doctor/bench/measurements.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json/json_fields.hpp"

namespace ddprun {

namespace {

void take_larger(std::optional<double>& value, const std::optional<double>& other) {
  if (other && (!value || *other > *value)) value = other;
}

/// Keeps the better one of two entries about one thing: a CPU or a NUMA node.
template <typename Entry, typename Better>
void take_better(std::vector<Entry>& entries, const std::vector<Entry>& others, int Entry::*thing,
                 const Better& is_better) {
  for (const Entry& other : others) {
    const auto known = std::ranges::find(entries, other.*thing, thing);
    if (known == entries.end())
      entries.push_back(other);
    else if (is_better(other, *known))
      *known = other;
  }
}

/// Returns whether the second one has no figures. Of two errors the newer one stays.
bool keeps_figures_of_first(std::string& first, const std::string& second) {
  if (second.empty() || !first.empty()) first = second;
  return !second.empty();
}

}  // namespace

NodeSpeeds better_of(NodeSpeeds first, const NodeSpeeds& second) {
  if (keeps_figures_of_first(first.error, second.error)) return first;
  take_better(first.cpus, second.cpus, &CpuSpeed::cpu,
              [](const CpuSpeed& a, const CpuSpeed& b) { return a.wall_ms < b.wall_ms; });
  take_better(first.memory, second.memory, &MemorySpeed::numa_node,
              [](const MemorySpeed& a, const MemorySpeed& b) { return a.gb_per_s > b.gb_per_s; });
  return first;
}

LinkSpeed better_of(LinkSpeed first, const LinkSpeed& second) {
  if (keeps_figures_of_first(first.error, second.error)) return first;
  if (second.rtt_us && (!first.rtt_us || *second.rtt_us < *first.rtt_us))
    first.rtt_us = second.rtt_us;
  take_larger(first.there_mbit_per_s, second.there_mbit_per_s);
  take_larger(first.back_mbit_per_s, second.back_mbit_per_s);
  return first;
}

namespace {

/// A figure that is no number, or below 0, or beyond all machines, would make nonsense of all
/// comparisons.
constexpr double kFigureMax = 1e15;

void check_figure(const char* name, double value) {
  if (!(value >= 0 && value <= kFigureMax))
    throw fields::Unfit{std::string{"'"} + name + "' is no figure from 0 to 1e15"};
}

void check_figure(const char* name, const std::optional<double>& value) {
  if (value) check_figure(name, *value);
}

}  // namespace

namespace fields {

/// A number from 0 up.
template <auto kMember>
constexpr Field count(std::string_view name) {
  Field out = field<kMember>(name);
  out.least = 0;
  return out;
}

// clang-format off
template <> inline constexpr auto kFields<CpuSpeed> = table(
    count<&CpuSpeed::cpu>("cpu"), if_any(uncut<&CpuSpeed::kind>("kind")),
    field<&CpuSpeed::wall_ms>("wall_ms"), field<&CpuSpeed::cpu_ms>("cpu_ms"));
template <> inline constexpr auto kFields<MemorySpeed> = table(
    count<&MemorySpeed::numa_node>("numa_node"), count<&MemorySpeed::threads>("threads"),
    count<&MemorySpeed::bytes>("bytes"), field<&MemorySpeed::gb_per_s>("gb_per_s"));
template <> inline constexpr auto kFields<NodeSpeeds> = table(
    uncut<&NodeSpeeds::node>("node"), if_any(uncut<&NodeSpeeds::error>("error")),
    uncut<&NodeSpeeds::cpus>("cpus"), uncut<&NodeSpeeds::memory>("memory"));
template <> inline constexpr auto kFields<LinkSpeed> = table(
    uncut<&LinkSpeed::from>("from"), uncut<&LinkSpeed::to>("to"),
    if_any(uncut<&LinkSpeed::error>("error")), field<&LinkSpeed::rtt_us>("rtt_us"),
    field<&LinkSpeed::there_mbit_per_s>("there_mbit_per_s"),
    field<&LinkSpeed::back_mbit_per_s>("back_mbit_per_s"));
template <> inline constexpr auto kFields<Measurements> = table(
    uncut<&Measurements::nodes>("nodes"), uncut<&Measurements::links>("links"),
    field<&Measurements::pairs>("pairs"));
// clang-format on

}  // namespace fields

namespace {

/// Reads a line by `read`, which throws fields::Unfit.
template <typename T>
Result<T> parse_as_measurement(std::string_view text, T (*read)(const nlohmann::json&)) try {
  const auto in = parse_json(text);
  if (!in) throw fields::Unfit{in.error().message};
  return read(**in);
} catch (const fields::Unfit& unfit) {
  return invalid(std::string{"this is no measurement: "} + unfit.what());
}

}  // namespace

nlohmann::json to_json(const Measurements& measurements) { return fields::to_object(measurements); }
nlohmann::json to_json(const NodeSpeeds& speeds) { return fields::to_object(speeds); }
nlohmann::json to_json(const LinkSpeed& speed) { return fields::to_object(speed); }

NodeSpeeds node_speeds_of(const nlohmann::json& from) {
  auto speeds = fields::from_object<NodeSpeeds>(from, "speeds");
  for (const CpuSpeed& cpu : speeds.cpus) {
    check_figure("wall_ms", cpu.wall_ms);
    check_figure("cpu_ms", cpu.cpu_ms);
  }
  for (const MemorySpeed& memory : speeds.memory) check_figure("gb_per_s", memory.gb_per_s);
  return speeds;
}

LinkSpeed link_speed_of(const nlohmann::json& from) {
  auto speed = fields::from_object<LinkSpeed>(from, "link");
  check_figure("rtt_us", speed.rtt_us);
  check_figure("there_mbit_per_s", speed.there_mbit_per_s);
  check_figure("back_mbit_per_s", speed.back_mbit_per_s);
  return speed;
}

std::string to_line(const NodeSpeeds& speeds) { return fields::to_text(speeds); }
std::string to_line(const LinkSpeed& speed) { return fields::to_text(speed); }

Result<NodeSpeeds> parse_node_speeds(std::string_view text) {
  return parse_as_measurement(text, node_speeds_of);
}

Result<LinkSpeed> parse_link_speed(std::string_view text) {
  return parse_as_measurement(text, link_speed_of);
}

}  // namespace ddprun
