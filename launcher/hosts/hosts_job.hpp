// Reads a job on several hosts from the command line, and decides what is sent to every host. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "launcher/hosts/hosts_machine.hpp"
#include "launcher/settings/arguments.hpp"
#include "launcher/settings/launch.hpp"

namespace ddprun {

/// A job on several hosts.
struct HostsJob {
  HostsRules rules;
  HostStart start;                // every host gets the same
  std::vector<int> stop_signals;  // those that stop the job
  std::string report_file;        // on this machine; "": no report is written
  bool dry_run = false;
  bool makes_secret = false;  // several hosts get a fresh one with their orders
  std::vector<std::string> warnings;
};

/// Whether the command line names hosts to run the job on.
bool names_hosts(const Settings& settings);

/// Decides the job. The program and most options are looked at on the hosts, where they mean
/// something. Errors: kInvalid; kNotFound and kDenied for the hostfile.
Result<HostsJob> hosts_job(const Arguments& arguments, const LocalSystem& machine);

/// Returns what is sent to the host of `order`.
HostStart start_of(const HostsJob& job, const StartAgent& order);

/// Returns what --dry-run prints, the ssh command for each host.
std::string dry_run(const HostsJob& job);

}  // namespace ddprun
