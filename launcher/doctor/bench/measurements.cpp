#include "launcher/doctor/bench/measurements.hpp"

#include <algorithm>

namespace ddprun {

namespace {

void take_larger(std::optional<double>& value, const std::optional<double>& other) {
  if (other && (!value || *other > *value)) value = other;
}

void take_better_cpus(std::vector<CpuSpeed>& cpus, const std::vector<CpuSpeed>& others) {
  for (const CpuSpeed& other : others) {
    const auto known = std::ranges::find(cpus, other.cpu, &CpuSpeed::cpu);
    if (known == cpus.end())
      cpus.push_back(other);
    else if (other.wall_ms < known->wall_ms)
      *known = other;
  }
}

void take_better_memory(std::vector<MemorySpeed>& memory, const std::vector<MemorySpeed>& others) {
  for (const MemorySpeed& other : others) {
    const auto known = std::ranges::find(memory, other.numa_node, &MemorySpeed::numa_node);
    if (known == memory.end())
      memory.push_back(other);
    else if (other.gb_per_s > known->gb_per_s)
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
  take_better_cpus(first.cpus, second.cpus);
  take_better_memory(first.memory, second.memory);
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

}  // namespace ddprun
