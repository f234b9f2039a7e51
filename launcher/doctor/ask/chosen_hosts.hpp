// Which hosts `ddprun doctor` looks at, how it is started there, and what failures of that mean.
// Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/failure.hpp"
#include "base/result.hpp"
#include "launcher/hosts/host_list.hpp"
#include "launcher/hosts/ssh_command.hpp"
#include "launcher/settings/launch.hpp"

namespace ddprun {

/// What leads to the hosts.
struct HostReach {
  Ssh ssh;
  std::string srun;  // its path, in an allocation of Slurm; "": ssh is used
};

/// Returns the argv that starts the node's side of the doctor there. By srun it is a step that
/// shares what the job has on the node with all other steps.
std::vector<std::string> node_command(const HostReach& reach, const Host& host);

/// Returns the variables, "NAME=value", without the one about the login in which this process runs.
std::vector<std::string> without_own_login(std::vector<std::string> variables);

/// How a host was not reached.
struct NoAnswer {
  std::optional<ExitStatus> status;     // how ssh or srun has ended; nullopt: it has not
  std::vector<std::string> last_words;  // lines of its standard error
};

/// Returns a sentence on why there is no answer of a host.
std::string why_no_answer(const HostReach& reach, const Host& host, const NoAnswer& no_answer);

/// Returns what to do about it.
std::string advice_on_reaching(const HostReach& reach, const NoAnswer& no_answer);

/// What the command line says about hosts.
struct HostOptions {
  std::string hosts;
  std::string hostfile;
  std::string ssh = "ssh";
  std::string remote_path;
  std::string remote_dir;
  bool no_cluster = false;
};

struct ChosenHosts {
  std::vector<Host> hosts;  // empty: this node alone
  HostReach reach;
  std::string by;  // "Slurm job 12"; "": the user has named them
};

/// Without --hosts, they are those of the allocation of Slurm, PBS or LSF whose batch script or
/// interactive shell this runs in, if it has several. Slurm's are reached by srun, so that what is
/// read is what a job step has, and by ssh where there is no srun. Errors: kInvalid, and kNotFound
/// for a program or a file that is not there.
Result<ChosenHosts> choose_hosts(const HostOptions& options, const LocalSystem& system);

}  // namespace ddprun
