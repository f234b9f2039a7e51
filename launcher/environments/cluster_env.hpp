// Reads what schedulers tell a process by its environment: Slurm's job steps
// (https://slurm.schedmd.com/srun.html, "OUTPUT ENVIRONMENT VARIABLES"), Open MPI's mpirun
// (https://docs.open-mpi.org, "Environment variables") and MPICH's, Flux's and PBS's tasks, LSF's
// jsrun, SageMaker and Kubernetes. decide_meeting() takes from it what the command line leaves
// open. docs/batch-systems.md has the order in which they are looked for. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/environment.hpp"
#include "base/result.hpp"
#include "launcher/settings/launch.hpp"
#include "launcher/settings/meeting.hpp"

namespace ddprun {

/// Returns this ddprun's place among those that a scheduler has started; nullopt where none has.
/// The place has a problem when several have been started on this node, or Slurm's list of hosts
/// cannot be read: that matters to a job that goes by the place. Another list that cannot be read
/// leaves the first host open.
std::optional<ClusterPlace> cluster_place(const LocalSystem& here);

/// An allocation, seen from its batch script or from an interactive shell in it, whose scheduler
/// starts a program on all nodes.
struct Allocation {
  enum class Starter { kSrun, kFlux };
  std::string by;  // for messages: "Slurm job 12"
  std::string job;
  std::string run_id;
  int nodes = 1;
  Starter starter = Starter::kSrun;
};

/// Returns nullopt outside of allocations, and inside of job steps.
std::optional<Allocation> allocation(const LocalSystem& here);

/// Returns the place of a ddprun that runs in the batch script, for that node alone.
ClusterPlace batch_place(const Allocation& allocation);

/// The hosts of a batch job whose scheduler leaves it to the job to reach them.
struct HostList {
  std::string by;
  std::string run_id;
  std::vector<std::string> hosts;
};

/// Returns the hosts of the PBS or LSF job whose batch script or interactive shell this runs in.
/// nullopt: there is none. Errors: kInvalid and kNotFound, when the list cannot be read.
Result<std::optional<HostList>> batch_hosts(const LocalSystem& here);

/// Returns how many of `visible` GPUs the scheduler grants; all, where it says nothing.
int granted_gpus(const EnvironmentLookup& environment, int visible);
/// Returns the same of `usable` CPUs.
int granted_cpus(const EnvironmentLookup& environment, int usable);

/// Returns a line for the user: "Slurm job 12: node 0 of 2, coordinator at h0:16432, run id 12.0".
std::string describe(const ClusterPlace& place);

}  // namespace ddprun
