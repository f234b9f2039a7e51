// A machine as JSON: what `ddprun topo --json` prints, and `ddprun topo --input FILE` reads, so
// that a machine can be drawn elsewhere. Pure. The text may come from anybody.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "launcher/topology/machine.hpp"
#include "launcher/topology/worker_places.hpp"

namespace ddprun {

inline constexpr std::size_t kMachineBytesMax = 8 * 1024 * 1024;

/// Returns `machine` as JSON. "matrix" and "workers" are for programs that read it, and not read
/// back.
///
///   {"cpus": [{"id", "core", "package", "numa_node", "cache"}], "usable_cpus": "0-127",
///    "numa_nodes": [{"id", "cpus": "0-63", "bytes", "distances": [10, 32]}],
///    "devices": [{"name": "GPU0", "kind": "gpu" or "nic", "bus_id", "model", "path": [...],
///                 "numa_node": 0 or null, "cpus", "interfaces": [...], "for_workers"}],
///    "gpu_links": [{"gpus": [bus_id, bus_id], "nvlinks", "way": "PIX" or null}],
///    "matrix": {"GPU0": {"GPU0": "X", "NIC0": "PIX"}},
///    "workers": [{"local_rank", "gpu": "GPU0" or null, "cpus", "memory_nodes"}]}
std::string to_json(const Machine& machine, const std::vector<WorkerPlace>& places);

/// Reads it back. Errors: kInvalid, with what is wrong.
Result<Machine> parse_machine(std::string_view text);

}  // namespace ddprun
