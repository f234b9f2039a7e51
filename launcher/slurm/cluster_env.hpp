// Reads what schedulers tell a process by its environment: Slurm's job steps
// (https://slurm.schedmd.com/srun.html, "OUTPUT ENVIRONMENT VARIABLES"), Open MPI's mpirun
// (https://docs.open-mpi.org, "Environment variables") and MPICH's. decide_meeting() takes from it
// what the command line leaves open. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/environment.hpp"
#include "base/result.hpp"
#include "launcher/settings/meeting.hpp"

namespace ddprun {

/// Returns this ddprun's place among those that a scheduler has started; nullopt where none has.
/// Errors: kInvalid, when several have been started on this node, or the list of hosts cannot be
/// read.
Result<std::optional<ClusterPlace>> cluster_place(const EnvironmentLookup& environment);

/// A Slurm allocation, seen from its batch script or from the shell of `salloc`.
struct SlurmAllocation {
  std::string job;
  std::string run_id;
  int nodes = 1;
};

/// Returns nullopt outside of allocations, and inside of job steps.
std::optional<SlurmAllocation> slurm_allocation(const EnvironmentLookup& environment);

/// Returns the place of a ddprun that runs in the batch script, for that node alone.
ClusterPlace batch_place(const SlurmAllocation& allocation);

/// Returns how many of `visible` GPUs the scheduler grants; all, where it says nothing.
int granted_gpus(const EnvironmentLookup& environment, int visible);
/// Returns the same of `usable` CPUs.
int granted_cpus(const EnvironmentLookup& environment, int usable);

/// Returns a line for the user: "Slurm job 12: node 0 of 2, coordinator at h0:16432, run id 12.0".
std::string describe(const ClusterPlace& place);

}  // namespace ddprun
