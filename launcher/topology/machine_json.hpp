// A machine as JSON: what `ddprun topo --json` prints. Pure.
#pragma once

#include <string>
#include <vector>

#include "launcher/topology/machine.hpp"
#include "launcher/topology/worker_places.hpp"

namespace ddprun {

/// Returns `machine` as JSON:
///
///   {"cpus": [{"id", "core", "package", "numa_node", "cache"}], "usable_cpus": "0-127",
///    "numa_nodes": [{"id", "cpus": "0-63", "bytes", "distances": [10, 32]}],
///    "devices": [{"name": "GPU0", "kind": "gpu" or "nic", "bus_id", "model", "path": [...],
///                 "numa_node": 0 or null, "cpus", "interfaces": [...], "for_workers"}],
///    "gpu_links": [{"gpus": [bus_id, bus_id], "nvlinks", "way": "PIX" or null}],
///    "matrix": {"GPU0": {"GPU0": "X", "NIC0": "PIX"}},
///    "workers": [{"local_rank", "gpu": "GPU0" or null, "cpus", "memory_nodes"}]}
std::string to_json(const Machine& machine, const std::vector<WorkerPlace>& places);

}  // namespace ddprun
