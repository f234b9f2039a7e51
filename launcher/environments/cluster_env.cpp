#include "launcher/environments/cluster_env.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/numbers.hpp"
#include "launcher/environments/host_lists.hpp"
#include "launcher/environments/starters.hpp"
#include "launcher/settings/gpus.hpp"

namespace ddprun {

namespace {

constexpr std::uint64_t kStepsWithOwnPort = 4;

// From here up, ids of steps belong to the batch script, an interactive shell and the like
// (slurm.h, SLURM_MAX_NORMAL_STEP_ID).
constexpr std::int64_t kSpecialSteps = 0xffff'0000;

bool in_slurm_step(const EnvironmentLookup& environment) {
  const auto step = number(environment, "SLURM_STEP_ID");
  return step && *step < kSpecialSteps && number(environment, "SLURM_NODEID") &&
         environment("SLURM_STEP_NODELIST");
}

/// Tells a requeued job from its run before. It keeps its number, and nodes of the run before may
/// still be alive behind a cut cable.
std::string slurm_run_id(const EnvironmentLookup& environment) {
  return fmt::format("{}.{}", text(environment, "SLURM_JOB_ID"),
                     number(environment, "SLURM_RESTART_COUNT").value_or(0));
}

/// What is true of each process of the job.
ClusterPlace slurm_job(const EnvironmentLookup& environment) {
  return {.by = "Slurm job " + text(environment, "SLURM_JOB_ID"),
          .slurm = true,
          .run_id = slurm_run_id(environment)};
}

/// Whether somebody has typed this command into the shell of `srun --pty`. An interactive shell
/// gives each command a process group, and what srun starts itself is in that of the task. Steps
/// that are started from the shell inherit the variable of the terminal and have no terminal.
bool typed_into_step(const EnvironmentLookup& environment, std::int64_t process_group) {
  return environment("SLURM_PTY_PORT") && process_group != 0 &&
         number(environment, "SLURM_TASK_PID").value_or(process_group) != process_group;
}

Result<ClusterPlace> slurm_place(const EnvironmentLookup& environment, int process_group) {
  ClusterPlace place = slurm_job(environment);
  if (typed_into_step(environment, process_group)) {
    place.by += ", shell of srun --pty";
    return place;
  }
  // SLURM_GTIDS lists the ranks of the tasks on this node.
  const std::string tasks = text(environment, "SLURM_GTIDS");
  if (const auto count = std::ranges::count(tasks, ','); count > 0)
    return too_many_here(
        "srun", count + 1,
        "give it --ntasks-per-node=1 (--ntasks is the number of nodes then), or write #SBATCH "
        "--ntasks-per-node=1");
  const auto hosts = expand_slurm_hosts(text(environment, "SLURM_STEP_NODELIST"));
  if (!hosts) return Error{hosts.error().kind, "SLURM_STEP_NODELIST: " + hosts.error().message};
  place.nodes = static_cast<int>(hosts->size());
  place.node_rank = static_cast<int>(number(environment, "SLURM_NODEID").value_or(0));
  place.first_host = hosts->front();
  const auto step = static_cast<std::uint64_t>(*number(environment, "SLURM_STEP_ID"));
  const auto id = static_cast<std::uint64_t>(number(environment, "SLURM_JOB_ID").value_or(0));
  place.port = port_of(id * kStepsWithOwnPort + step % kStepsWithOwnPort);
  return place;
}

/// Returns the first IPv4 address of mpirun in "807600128.0;tcp://10.77.0.1,192.0.2.1:49301;...".
std::string address_in_uri(const std::string& uri) {
  constexpr std::string_view kScheme = "tcp://";
  const std::size_t begin = uri.find(kScheme);
  if (begin == std::string::npos) return "";
  const std::size_t from = begin + kScheme.size();
  return uri.substr(from, uri.find_first_of(",:;", from) - from);
}

/// Returns the host of mpirun in "prterun-h1-82867@1", the name of a job of Open MPI 5, which tells
/// processes no address.
std::string host_in_job(const std::string& job) {
  constexpr std::string_view kTool = "prterun-";
  const std::size_t end = job.rfind('-');
  if (!job.starts_with(kTool) || end < kTool.size()) return "";
  return job.substr(kTool.size(), end - kTool.size());
}

/// How an MPI names itself, its command, and what it tells each process that it starts.
struct Mpi {
  const char* by;
  const char* command;
  const char* one_a_node;      // the command's option for one process on each node
  const char* nodes;           // the variable with the number of processes
  const char* node_rank;       // the variable with the rank of this one
  const char* processes_here;  // the variable with the number of those on this node
};
constexpr Mpi kOpenMpi{"Open MPI",
                       "mpirun",
                       "-N 1",
                       "OMPI_COMM_WORLD_SIZE",
                       "OMPI_COMM_WORLD_RANK",
                       "OMPI_COMM_WORLD_LOCAL_SIZE"};
constexpr Mpi kMpich{"MPI", "mpiexec", "-ppn 1", "PMI_SIZE", "PMI_RANK", "MPI_LOCALNRANKS"};

Result<ClusterPlace> mpi_place(const Mpi& mpi, const EnvironmentLookup& environment) {
  if (const auto here = number(environment, mpi.processes_here); here && *here > 1)
    return too_many_here(mpi.command, *here, fmt::format("give it {}", mpi.one_a_node));
  return ClusterPlace{
      .by = mpi.by,
      .nodes =
          static_cast<int>(std::max<std::int64_t>(1, number(environment, mpi.nodes).value_or(1))),
      .node_rank = static_cast<int>(number(environment, mpi.node_rank).value_or(0))};
}

Result<ClusterPlace> open_mpi_place(const EnvironmentLookup& environment) {
  auto place = mpi_place(kOpenMpi, environment);
  if (!place) return place;
  place->run_id = text(environment, "PMIX_NAMESPACE");
  place->port = port_of(hash(place->run_id));
  // The coordinator runs beside mpirun, because all nodes know that one.
  place->first_host = address_in_uri(text(environment, "OMPI_MCA_orte_hnp_uri"));
  if (place->first_host.empty()) place->first_host = host_in_job(place->run_id);
  place->first_host_is_rank_0 = false;
  return place;
}

}  // namespace

std::optional<ClusterPlace> cluster_place(const LocalSystem& here) {
  const EnvironmentLookup& environment = here.environment;
  const auto found = [](Result<ClusterPlace> place, ClusterPlace otherwise = {}) {
    if (place) return std::optional{std::move(*place)};
    otherwise.problem = place.error().message;
    return std::optional{std::move(otherwise)};
  };
  // mpirun may itself run in a job step of a scheduler, which then tells about its daemons. Flux
  // sets the variables of MPICH, too, and MPICH may run in a job of PBS.
  if (environment(kOpenMpi.nodes)) return found(open_mpi_place(environment));
  if (in_slurm_step(environment))
    return found(slurm_place(environment, here.process_group()), slurm_job(environment));
  if (environment(kFlux.sign)) return found(place_by(kFlux, here));
  if (environment(kJsrun.sign)) return found(place_by(kJsrun, here));
  if (environment(kMpich.nodes)) return found(mpi_place(kMpich, environment));
  if (in_pbs_task(environment)) return found(place_by(kPbs, here));
  if (environment(kSageMaker.sign)) return found(place_by(kSageMaker, here));
  if (environment("JOB_COMPLETION_INDEX")) return found(kubernetes_place(here));
  return std::nullopt;
}

std::optional<Allocation> allocation(const LocalSystem& here) {
  const EnvironmentLookup& environment = here.environment;
  if (in_slurm_step(environment) || environment(kFlux.sign) || environment(kOpenMpi.nodes) ||
      environment(kMpich.nodes))
    return std::nullopt;
  if (const std::string job = text(environment, "SLURM_JOB_ID"); !job.empty()) {
    const auto nodes = number(environment, "SLURM_JOB_NUM_NODES");
    return Allocation{"Slurm job " + job, job, slurm_run_id(environment),
                      static_cast<int>(nodes.value_or(1))};
  }
  if (!environment("FLUX_URI")) return std::nullopt;
  // Level 0 is the instance of the whole system: its nodes are not this job's.
  const auto answer = [&](const char* attribute) {
    const std::string line = here.output_of({"flux", "getattr", attribute});
    return parse_number<int>(line.substr(0, line.find('\n'))).value_or(0);
  };
  if (answer("instance-level") < 1) return std::nullopt;
  return Allocation{"Flux instance", "", "flux", std::max(answer("size"), 1),
                    Allocation::Starter::kFlux};
}

Result<std::optional<HostList>> batch_hosts(const LocalSystem& here) {
  const EnvironmentLookup& environment = here.environment;
  const bool pbs = environment("PBS_JOBID") && environment("PBS_NODEFILE");
  const bool lsf = environment("LSB_JOBID") &&
                   (environment("LSB_DJOB_HOSTFILE") || environment("LSB_MCPU_HOSTS"));
  if (!pbs && !lsf) return std::optional<HostList>{};
  const Starter& starter = pbs ? kPbs : kJsrun;
  const std::string job = text(environment, starter.job);
  const auto hosts = starter.hosts(here);
  if (!hosts) return hosts.error();
  return std::optional{HostList{fmt::format("{} {}", starter.by, job), run_id_of(job), *hosts}};
}

int granted_gpus(const EnvironmentLookup& environment, int visible) {
  const auto granted = number(environment, "SLURM_GPUS_ON_NODE");
  if (!granted || !environment("SLURM_JOB_ID")) return visible;
  const auto listed = listed_gpus(environment);
  const auto most = listed ? static_cast<std::int64_t>(listed->size()) : *granted;
  return static_cast<int>(std::min(*granted, most));
}

int granted_cpus(const EnvironmentLookup& environment, int usable) {
  const auto granted = number(environment, "SLURM_CPUS_ON_NODE");
  if (!granted || *granted == 0 || !environment("SLURM_JOB_ID")) return usable;
  return static_cast<int>(std::min<std::int64_t>(*granted, usable));
}

ClusterPlace batch_place(const Allocation& allocation) {
  return {.by = allocation.by,
          .slurm = allocation.starter == Allocation::Starter::kSrun,
          .run_id = allocation.run_id};
}

std::string describe(const ClusterPlace& place) {
  if (place.nodes == 1 && place.may_be_alone)
    return fmt::format(
        "{}: one node, run id {}; PET_NNODES or --nnodes says how many pods a job has", place.by,
        place.run_id);
  if (place.nodes == 1) return fmt::format("{}: one node, run id {}", place.by, place.run_id);
  return fmt::format("{}: node {} of {}, coordinator at {}:{}, run id {}", place.by,
                     place.node_rank, place.nodes, place.first_host, place.port, place.run_id);
}

}  // namespace ddprun
