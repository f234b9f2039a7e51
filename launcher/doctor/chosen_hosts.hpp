// Decides which hosts `ddprun doctor` looks at, and how it comes there. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "launcher/doctor/host_commands.hpp"
#include "launcher/hosts/host_list.hpp"
#include "launcher/settings/launch.hpp"

namespace ddprun {

/// What the command line says about hosts.
struct HostWishes {
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
Result<ChosenHosts> choose_hosts(const HostWishes& wishes, const Surroundings& surroundings);

}  // namespace ddprun
