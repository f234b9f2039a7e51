// Reads the lists of hosts that schedulers give to a job. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace ddprun {

/// Names in their order, each once.
using HostNames = std::vector<std::string>;

/// Reads a node file or a variable with one word for each place of a job, so that a host may be
/// there many times: PBS_NODEFILE (https://openpbs.atlassian.net, "qsub", "PBS_NODEFILE"),
/// LSB_DJOB_HOSTFILE and LSB_HOSTS
/// (https://www.ibm.com/docs/en/spectrum-lsf/10.1.0?topic=variables-environment-set-job-execution).
HostNames hosts_of_places(std::string_view text);

/// Reads LSB_MCPU_HOSTS, "h1 4 h2 4": each host and how many places the job has there.
HostNames hosts_with_places(std::string_view text);

/// Reads SM_HOSTS, ["algo-1","algo-2"]
/// (https://github.com/aws/sagemaker-training-toolkit/blob/master/ENVIRONMENT_VARIABLES.md).
/// Errors: kInvalid.
Result<HostNames> hosts_in_json(std::string_view text);

/// Reads what Flux has given to a job, as `flux job info ID R` prints it: the hosts are in
/// execution.nodelist, in the order of the tasks
/// (https://flux-framework.readthedocs.io/projects/flux-rfc/en/latest/spec_20.html). Errors:
/// kInvalid.
Result<HostNames> hosts_in_flux_resources(std::string_view text);

/// Returns the name that the first pod of an indexed Job has in the network: "train-0.net.ns.svc.x"
/// in the pod `host_name` "train-3", whose `index` is 3. Of the pods' names only the last number
/// differs (https://kubernetes.io/docs/tasks/job/job-with-pod-to-pod-communication, and for JobSet
/// https://jobset.sigs.k8s.io/docs/concepts, "Network"). The domain is in the pod's own line of
/// /etc/hosts, `hosts_file`, if the pod has a subdomain. Errors: kInvalid.
Result<std::string> first_pod(std::string_view host_name, int index, std::string_view hosts_file);

// Writes out Slurm's lists of hosts, "n[001-003,7],gpu-a[1-2]-ib0", as `scontrol show hostnames`
// does (https://slurm.schedmd.com/scontrol.html, "hostnames").

/// No machine has more hosts. A longer list is refused, because it could take all memory.
inline constexpr std::size_t kSlurmHostsMax = 65'536;

/// Returns the names in the list's order, with numbers padded as they are in the list. Errors:
/// kInvalid.
Result<std::vector<std::string>> expand_slurm_hosts(std::string_view list);

}  // namespace ddprun
