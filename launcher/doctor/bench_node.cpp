#include "launcher/doctor/bench_node.hpp"

#include <algorithm>
#include <utility>

#include "launcher/doctor/bench_findings.hpp"
#include "launcher/doctor/progress_line.hpp"

namespace ddprun {

BenchReady prepare_bench(const std::string& token, std::optional<ChildServer>& server) {
  server.reset();
  auto started = start_link_server(token);
  if (!started) return {machine_identity(), 0};
  server.emplace(std::move(*started));
  return {machine_identity(), server->port};
}

NodeSpeeds measure_read_node(const NodeReading& reading) {
  const MemoryReading& memory = reading.memory;
  std::int64_t free = memory.available_bytes.value_or(0);
  if (memory.cgroup_max_bytes && *memory.cgroup_max_bytes != kUnlimited)
    free = std::min(free, *memory.cgroup_max_bytes - memory.cgroup_used_bytes.value_or(0));
  return measure_node(reading.node, {.cpu_quota = reading.cpus.quota, .free_bytes = free});
}

NodeSpeeds measure_until_sure(const NodeReading& reading) {
  ProgressLine progress;
  progress.show("measuring CPUs and memory");
  NodeSpeeds speeds = measure_read_node(reading);
  if (doubtful_nodes({speeds}).empty()) return speeds;
  progress.show("measuring CPUs and memory once more");
  return better_of(std::move(speeds), measure_read_node(reading));
}

}  // namespace ddprun
