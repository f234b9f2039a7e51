// What a scheduler has told of this ddprun's place among those that it started.
#pragma once

#include <cstdint>
#include <string>

namespace ddprun {

/// This ddprun as one of those that a scheduler has started together, one on each node.
struct ClusterPlace {
  std::string by;  // "Slurm job 12", "Open MPI"
  bool slurm = false;
  int nodes = 1;
  int node_rank = 0;
  std::string first_host;  // "": the environment does not tell
  bool first_host_is_rank_0 = true;
  std::uint16_t port = 0;  // of the endpoint; differs between jobs
  std::string run_id;
};

/// What was taken from the place, besides what went into the settings.
struct ClusterMeeting {
  ClusterPlace place;
  bool hosts_coordinator = false;
};

}  // namespace ddprun
