// A job on several hosts, as the command line describes it: what every host is told.
#pragma once

#include <string>
#include <vector>

#include "launcher/hosts/hosts_machine.hpp"
#include "launcher/settings/arguments.hpp"

namespace ddprun {

struct HostsJob {
  HostsRules rules;
  HostStart start;                // what all hosts are told alike
  std::vector<int> stop_signals;  // those that stop the job
  bool dry_run = false;
  std::vector<std::string> warnings;
};

/// Whether the job is one on other hosts.
bool names_hosts(const Settings& settings);

/// Reads the hostfile, if there is one. The program and most options are looked at on the hosts,
/// where they mean something. Errors: kInvalid; kNotFound and kDenied for the hostfile.
Result<HostsJob> hosts_job(const Arguments& arguments, const EnvironmentLookup& environment);

/// What the host of `order` is told.
HostStart start_of(const HostsJob& job, const StartAgent& order);

/// What --dry-run prints: the command for each host.
std::string dry_run(const HostsJob& job);

}  // namespace ddprun
