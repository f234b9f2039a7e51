#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "agent/placement.hpp"
#include "rendezvous/result.hpp"
namespace ddprun {
struct CpuTopology {};
inline std::string format_cpu_list(const std::vector<int>&) { return ""; }
inline Result<CpuTopology> read_topology(const std::filesystem::path&, const std::vector<int>&) {
  return CpuTopology{};
}
inline std::vector<int> allowed_cpus() { return {}; }
inline std::vector<int> gpu_numa_nodes(const std::filesystem::path&, const std::filesystem::path&) {
  return {};
}
inline Result<std::vector<Placement>> place_workers(NumaBinding, const CpuTopology&,
                                                    const std::vector<int>&) {
  return std::vector<Placement>{};
}
inline std::vector<int> nodes_of_workers(const CpuTopology&, const std::vector<int>&, int) {
  return {};
}
}  // namespace ddprun
