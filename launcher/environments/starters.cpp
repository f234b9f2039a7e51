#include "launcher/environments/starters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "base/numbers.hpp"

namespace ddprun {

namespace {

// These ports are below those that Linux gives to connections (32,768 and up), and above those of
// services.
constexpr std::uint64_t kFirstPort = 16'384;
constexpr std::uint64_t kPorts = 16'384;

}  // namespace

std::string text(const EnvironmentLookup& environment, const char* name) {
  return environment(name).value_or("");
}

std::optional<std::int64_t> number(const EnvironmentLookup& environment, const char* name) {
  const auto value = parse_number<std::int64_t>(text(environment, name));
  return value && *value >= 0 ? value : std::nullopt;
}

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

namespace {

/// The first task of a PBS job is its batch script; those that pbsdsh starts have other numbers.
constexpr std::int64_t kPbsBatchScript = 1;

Result<HostNames> known(HostNames hosts, const std::string& source) {
  if (!hosts.empty()) return hosts;
  return Error{Error::Kind::kInvalid, source + " names no host"};
}

/// Reads the file that a variable names.
Result<HostNames> hosts_in_file(const LocalSystem& here, const char* variable) {
  const std::string path = text(here.environment, variable);
  const auto places = here.read_text(path);
  if (!places)
    return Error{Error::Kind::kNotFound, fmt::format("cannot read {} '{}'", variable, path)};
  return known(hosts_of_places(*places), variable);
}

Result<HostNames> flux_hosts(const LocalSystem& here) {
  return hosts_in_flux_resources(
      here.output_of({"flux", "job", "info", text(here.environment, "FLUX_JOB_ID"), "R"}));
}

Result<HostNames> lsf_hosts(const LocalSystem& here) {
  if (auto hosts = hosts_in_file(here, "LSB_DJOB_HOSTFILE")) return hosts;
  auto counted = hosts_with_places(text(here.environment, "LSB_MCPU_HOSTS"));
  if (!counted.empty()) return counted;
  return known(hosts_of_places(text(here.environment, "LSB_HOSTS")), "LSB_HOSTS");
}

Result<HostNames> pbs_hosts(const LocalSystem& here) { return hosts_in_file(here, "PBS_NODEFILE"); }

Result<HostNames> sagemaker_hosts(const LocalSystem& here) {
  return hosts_in_json(text(here.environment, "SM_HOSTS"));
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
  if (starter.here != nullptr) return number(environment, starter.here).value_or(1);
  if (starter.processes == nullptr || nodes == 0) return 1;
  return (number(environment, starter.processes).value_or(1) + nodes - 1) / nodes;
}

}  // namespace

// Flux: https://flux-framework.readthedocs.io/projects/flux-core, flux-environment(7). jsrun is
// IBM's starter in LSF jobs; where a job has a launch node, LSF's list begins with it, and no task
// runs there. PBS: pbsdsh(1). SageMaker: see hosts_in_json().
// clang-format off
const Starter kFlux{"Flux job", "FLUX_TASK_RANK", "FLUX_JOB_ID", "FLUX_JOB_NNODES", "FLUX_TASK_RANK", nullptr,
                        "FLUX_JOB_SIZE", nullptr, true, "flux run", "--tasks-per-node=1", flux_hosts};
const Starter kJsrun{"LSF job", "JSM_NAMESPACE_RANK", "LSB_JOBID", "JSM_NAMESPACE_SIZE", "JSM_NAMESPACE_RANK", nullptr,
                         nullptr, "JSM_NAMESPACE_LOCAL_SIZE", false, "jsrun", "-r 1 -a 1", lsf_hosts};
const Starter kPbs{"PBS job", "PBS_NODENUM", "PBS_JOBID", nullptr, "PBS_NODENUM", nullptr,
                       nullptr, nullptr, true, "pbsdsh", "", pbs_hosts};
const Starter kSageMaker{"SageMaker job", "SM_CURRENT_HOST", "TRAINING_JOB_NAME", nullptr, nullptr, "SM_CURRENT_HOST",
                             nullptr, nullptr, true, "", "", sagemaker_hosts};
// clang-format on

Result<ClusterPlace> place_by(const Starter& starter, const LocalSystem& here) {
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
    place.first_host = hosts->at(
        static_cast<std::size_t>(std::clamp<std::int64_t>(listed - nodes, 0, listed - 1)));
  else
    place.why_unknown = hosts.error().message;
  return place;
}

bool in_pbs_task(const EnvironmentLookup& environment) {
  const auto task = number(environment, "PBS_TASKNUM");
  return task && *task > kPbsBatchScript && environment("PBS_NODENUM");
}

ClusterPlace kubernetes_place(const LocalSystem& here) {
  const auto index = static_cast<int>(number(here.environment, "JOB_COMPLETION_INDEX").value_or(0));
  const std::string host = here.host_name();
  ClusterPlace place{.by = "Kubernetes",
                     .nodes = 0,
                     .node_rank = index,
                     .may_be_alone = true,
                     .port = kC10dPort,  // pods have all ports to themselves
                     .run_id = host.substr(0, host.rfind('-'))};
  const auto names = here.read_text("/etc/hosts");
  const auto first = first_pod(host, index, names ? std::string_view{*names} : "");
  if (first)
    place.first_host = *first;
  else
    place.why_unknown = first.error().message;
  return place;
}

std::string run_id_of(const std::string& job) {
  std::string id;
  for (const char c : job)
    if (static_cast<unsigned char>(c) < 0x80) id += c;
  return id;
}

}  // namespace ddprun
