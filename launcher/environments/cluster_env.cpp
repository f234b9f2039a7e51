#include "launcher/environments/cluster_env.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <utility>

#include "base/parse_number.hpp"
#include "launcher/environments/host_lists.hpp"
#include "launcher/environments/slurm_hosts.hpp"

namespace ddprun {

namespace {

// These ports are below those that Linux gives to connections (32,768 and up), and above those of
// services.
constexpr std::uint64_t kFirstPort = 16'384;
constexpr std::uint64_t kPorts = 16'384;
constexpr std::uint64_t kStepsWithOwnPort = 4;

// From here up, ids of steps belong to the batch script, an interactive shell and the like
// (slurm.h, SLURM_MAX_NORMAL_STEP_ID).
constexpr std::int64_t kSpecialSteps = 0xffff'0000;

std::string text(const EnvironmentLookup& environment, const char* name) {
  return environment(name).value_or("");
}

/// Returns nullopt where it is not set, or is no number from 0 up.
std::optional<std::int64_t> number(const EnvironmentLookup& environment, const char* name) {
  const auto value = parse_number<std::int64_t>(text(environment, name));
  return value && *value >= 0 ? value : std::nullopt;
}

/// This is FNV-1a (http://www.isthe.com/chongo/tech/comp/fnv).
std::uint64_t hash(const std::string& words) {
  std::uint64_t value = 14'695'981'039'346'656'037U;
  for (const char c : words) value = (value ^ static_cast<unsigned char>(c)) * 1'099'511'628'211U;
  return value;
}

std::uint16_t port_of(std::uint64_t job) {
  return static_cast<std::uint16_t>(kFirstPort + job % kPorts);
}

Error too_many_here(const std::string& by, std::int64_t count, const std::string& advice) {
  return {Error::Kind::kInvalid,
          fmt::format("{} has started {} ddprun on this node, where one starts all workers: {}, "
                      "and --nproc-per-node says how many workers a node has",
                      by, count, advice)};
}

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

Result<ClusterPlace> slurm_place(const EnvironmentLookup& environment) {
  const std::string job = text(environment, "SLURM_JOB_ID");
  ClusterPlace place{.by = "Slurm job " + job, .slurm = true};
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
  place.run_id = slurm_run_id(environment);
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
  // The coordinator runs beside mpirun, because that is the one node of which all are told.
  place->first_host = address_in_uri(text(environment, "OMPI_MCA_orte_hnp_uri"));
  place->first_host_is_rank_0 = false;
  return place;
}

// --- Those that need no more than a row of a table ---

Result<HostNames> known(HostNames hosts, const std::string& source) {
  if (!hosts.empty()) return hosts;
  return Error{Error::Kind::kInvalid, source + " names no host"};
}

/// Reads the file that a variable names.
Result<HostNames> hosts_in_file(const Surroundings& here, const char* variable) {
  const std::string path = text(here.environment, variable);
  const auto places = path.empty() ? std::nullopt : here.read_text(path);
  if (!places)
    return Error{Error::Kind::kNotFound, fmt::format("cannot read {} '{}'", variable, path)};
  return known(hosts_of_places(*places), variable);
}

Result<HostNames> flux_hosts(const Surroundings& here) {
  return hosts_in_flux_resources(
      here.output_of({"flux", "job", "info", text(here.environment, "FLUX_JOB_ID"), "R"}));
}

Result<HostNames> lsf_hosts(const Surroundings& here) {
  if (const auto hosts = hosts_in_file(here, "LSB_DJOB_HOSTFILE")) return hosts;
  auto counted = hosts_with_places(text(here.environment, "LSB_MCPU_HOSTS"));
  if (!counted.empty()) return counted;
  return known(hosts_of_places(text(here.environment, "LSB_HOSTS")), "LSB_HOSTS");
}

Result<HostNames> pbs_hosts(const Surroundings& here) {
  return hosts_in_file(here, "PBS_NODEFILE");
}

Result<HostNames> sagemaker_hosts(const Surroundings& here) {
  return hosts_in_json(text(here.environment, "SM_HOSTS"));
}

/// The first task of a PBS job is its batch script; those that pbsdsh starts have other numbers.
constexpr std::int64_t kPbsBatchScript = 1;

bool in_pbs_task(const EnvironmentLookup& environment) {
  const auto task = number(environment, "PBS_TASKNUM");
  return task && *task > kPbsBatchScript && environment("PBS_NODENUM");
}

/// A system that starts ddprun on each node, and the variables by which it tells where each is.
struct Starter {
  const char* by;
  const char* sign;        // the variable that those have whom it has started
  const char* job;         // the job's id
  const char* nodes;       // how many nodes; nullptr: as many as there are hosts
  const char* rank;        // the rank of this one; nullptr: its place among the hosts
  const char* host;        // this host, as the list calls it
  const char* processes;   // how many there are on all nodes together; nullptr: it does not tell
  bool first_has_rank_0;   // whether the first of the hosts does
  const char* command;     // by which one starts on each node,
  const char* one_a_node;  // and its option for that
  Result<HostNames> (*hosts)(const Surroundings& here);
};

// Flux:
// https://flux-framework.readthedocs.io/projects/flux-core/en/latest/man7/flux-environment.html.
// jsrun is IBM's starter in LSF jobs; where a job has a launch node, LSF's list begins with it, and
// no task runs there. PBS: pbsdsh(1). SageMaker: see hosts_in_json().
// clang-format off
constexpr Starter kFlux{"Flux job", "FLUX_TASK_RANK", "FLUX_JOB_ID", "FLUX_JOB_NNODES", "FLUX_TASK_RANK", nullptr,
                        "FLUX_JOB_SIZE", true, "flux run", "--tasks-per-node=1", flux_hosts};
constexpr Starter kJsrun{"LSF job", "JSM_NAMESPACE_RANK", "LSB_JOBID", "JSM_NAMESPACE_SIZE", "JSM_NAMESPACE_RANK", nullptr,
                         nullptr, false, "jsrun", "-r 1 -a 1", lsf_hosts};
constexpr Starter kPbs{"PBS job", "PBS_NODENUM", "PBS_JOBID", nullptr, "PBS_NODENUM", nullptr,
                       nullptr, true, "pbsdsh", "", pbs_hosts};
constexpr Starter kSageMaker{"SageMaker job", "SM_CURRENT_HOST", "TRAINING_JOB_NAME", nullptr, nullptr, "SM_CURRENT_HOST",
                             nullptr, true, "", "", sagemaker_hosts};
// clang-format on

/// Makes a run id of a job's id. Flux's begin with a letter that is not ASCII.
std::string run_id_of(const std::string& job) {
  std::string id;
  for (const char c : job)
    if (static_cast<unsigned char>(c) < 0x80) id += c;
  return id;
}

/// Returns the rank of this one; -1: it is none of the hosts.
int rank_in(const Starter& starter, const EnvironmentLookup& environment, const HostNames& hosts) {
  if (starter.rank != nullptr)
    return static_cast<int>(number(environment, starter.rank).value_or(0));
  const auto own = std::ranges::find(hosts, text(environment, starter.host));
  return own == hosts.end() ? -1 : static_cast<int>(own - hosts.begin());
}

/// Returns how many there are on each node, at least on one of them.
std::int64_t processes_a_node(const Starter& starter, const EnvironmentLookup& environment,
                              std::int64_t nodes) {
  if (starter.processes == nullptr || nodes == 0) return 1;
  return (number(environment, starter.processes).value_or(1) + nodes - 1) / nodes;
}

Result<ClusterPlace> place_by(const Starter& starter, const Surroundings& here) {
  const EnvironmentLookup& environment = here.environment;
  const std::string job = text(environment, starter.job);
  const auto hosts = starter.hosts(here);
  const auto listed = hosts ? static_cast<std::int64_t>(hosts->size()) : 0;
  const auto nodes =
      starter.nodes != nullptr ? number(environment, starter.nodes).value_or(listed) : listed;
  if (const auto each = processes_a_node(starter, environment, nodes); each > 1)
    return too_many_here(starter.command, each, fmt::format("give it {}", starter.one_a_node));
  ClusterPlace place{.by = fmt::format("{} {}", starter.by, job),
                     .nodes = static_cast<int>(nodes),
                     .node_rank = rank_in(starter, environment, hosts ? *hosts : HostNames{}),
                     .run_id = run_id_of(job)};
  if (place.node_rank < 0)
    return Error{Error::Kind::kInvalid, fmt::format("{}: {} '{}' is none of its hosts", place.by,
                                                    starter.host, text(environment, starter.host))};
  place.port = port_of(hash(place.run_id));
  place.first_host_is_rank_0 = starter.first_has_rank_0;
  if (hosts)  // the last ones, because a launch node may come first
    place.first_host =
        hosts->at(static_cast<std::size_t>(std::max<std::int64_t>(listed - nodes, 0)));
  else
    place.why_unknown = hosts.error().message;
  return place;
}

/// A pod does not hear how many there are; the manifest says it by PET_NNODES.
ClusterPlace kubernetes_place(const Surroundings& here) {
  const auto index = static_cast<int>(number(here.environment, "JOB_COMPLETION_INDEX").value_or(0));
  const std::string host = here.host_name();
  ClusterPlace place{.by = "Kubernetes",
                     .nodes = 0,
                     .node_rank = index,
                     .may_be_alone = true,
                     .port = kC10dPort,  // pods have all ports to themselves
                     .run_id = host.substr(0, host.rfind('-'))};
  const auto first = first_pod(host, index, here.read_text("/etc/hosts").value_or(""));
  if (first)
    place.first_host = *first;
  else
    place.why_unknown = first.error().message;
  return place;
}

}  // namespace

Result<std::optional<ClusterPlace>> cluster_place(const Surroundings& here) {
  const EnvironmentLookup& environment = here.environment;
  const auto found = [](Result<ClusterPlace> place) -> Result<std::optional<ClusterPlace>> {
    if (!place) return place.error();
    return std::optional{std::move(*place)};
  };
  // mpirun may itself run in a job step of a scheduler, which then tells about its daemons. Flux
  // sets the variables of MPICH, too, and MPICH may run in a job of PBS.
  if (environment(kOpenMpi.nodes)) return found(open_mpi_place(environment));
  if (in_slurm_step(environment)) return found(slurm_place(environment));
  if (environment(kFlux.sign)) return found(place_by(kFlux, here));
  if (environment(kJsrun.sign)) return found(place_by(kJsrun, here));
  if (environment(kMpich.nodes)) return found(mpi_place(kMpich, environment));
  if (in_pbs_task(environment)) return found(place_by(kPbs, here));
  if (environment(kSageMaker.sign)) return found(place_by(kSageMaker, here));
  if (environment("JOB_COMPLETION_INDEX")) return found(kubernetes_place(here));
  return std::optional<ClusterPlace>{};
}

std::optional<Allocation> allocation(const Surroundings& here) {
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

Result<std::optional<HostList>> batch_hosts(const Surroundings& here) {
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
  const auto list = environment("CUDA_VISIBLE_DEVICES");
  const auto listed = list && !list->empty() ? std::ranges::count(*list, ',') + 1 : *granted;
  return static_cast<int>(std::min<std::int64_t>(*granted, listed));
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
