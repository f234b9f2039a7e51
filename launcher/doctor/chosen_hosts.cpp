#include "launcher/doctor/chosen_hosts.hpp"

#include <optional>
#include <utility>

#include "launcher/environments/cluster_env.hpp"
#include "launcher/environments/slurm_hosts.hpp"
#include "launcher/environments/variables.hpp"

namespace ddprun {

namespace {

Result<std::vector<Host>> named_hosts(const HostWishes& wishes, const Surroundings& surroundings) {
  if (!wishes.hosts.empty() && !wishes.hostfile.empty())
    return invalid("ddprun doctor: --hosts and --hostfile exclude each other");
  if (wishes.hostfile.empty())
    return parse_hosts({.text = wishes.hosts, .source = "--hosts", .given = true});
  const auto text = surroundings.read_text(wishes.hostfile);
  if (!text) return invalid("ddprun doctor: --hostfile: " + text.error().message);
  return parse_hostfile(*text, wishes.hostfile);
}

std::vector<Host> as_hosts(const std::vector<std::string>& names) {
  std::vector<Host> hosts;
  hosts.reserve(names.size());
  for (const std::string& name : names) hosts.push_back({name, std::nullopt});
  return hosts;
}

/// Returns no hosts where there is no allocation of several nodes.
Result<ChosenHosts> allocated_hosts(const Surroundings& surroundings) {
  ChosenHosts chosen;
  const auto slurm = allocation(surroundings);
  if (slurm && slurm->starter == Allocation::Starter::kSrun && slurm->nodes > 1) {
    const auto names = expand_slurm_hosts(text(surroundings.environment, "SLURM_JOB_NODELIST"));
    if (!names) return Error{names.error().kind, "SLURM_JOB_NODELIST: " + names.error().message};
    chosen = {as_hosts(*names), {}, slurm->by};
    if (auto srun = surroundings.find_program("srun")) chosen.reach.srun = std::move(*srun);
    return chosen;
  }
  const auto batch = batch_hosts(surroundings);
  if (!batch) return batch.error();
  if (*batch && (*batch)->hosts.size() > 1) chosen = {as_hosts((*batch)->hosts), {}, (*batch)->by};
  return chosen;
}

Result<Ssh> ssh_of(const HostWishes& wishes, bool needed, const Surroundings& surroundings) {
  Ssh ssh{words_of(wishes.ssh), wishes.remote_path};
  if (ssh.words.empty()) return invalid("ddprun doctor: --ssh-cmd '': expected a command");
  if (ssh.remote_path.empty()) ssh.remote_path = surroundings.own_path();
  if (!needed) return ssh;
  auto program = surroundings.find_program(ssh.words.front());
  if (!program) return Error{program.error().kind, "--ssh-cmd: " + program.error().message};
  ssh.words.front() = std::move(*program);
  return ssh;
}

}  // namespace

Result<ChosenHosts> choose_hosts(const HostWishes& wishes, const Surroundings& surroundings) {
  ChosenHosts chosen;
  if (!wishes.hosts.empty() || !wishes.hostfile.empty()) {
    auto hosts = named_hosts(wishes, surroundings);
    if (!hosts) return hosts.error();
    chosen.hosts = std::move(*hosts);
  } else if (!wishes.no_cluster) {
    auto allocated = allocated_hosts(surroundings);
    if (!allocated) return allocated.error();
    chosen = std::move(*allocated);
  }
  if (chosen.hosts.empty()) return chosen;
  auto ssh = ssh_of(wishes, chosen.reach.srun.empty(), surroundings);
  if (!ssh) return ssh.error();
  chosen.reach.ssh = std::move(*ssh);
  return chosen;
}

}  // namespace ddprun
