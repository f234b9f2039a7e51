#include "launcher/doctor/ask/chosen_hosts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "launcher/environments/cluster_env.hpp"
#include "launcher/environments/host_lists.hpp"
#include "launcher/environments/starters.hpp"

namespace ddprun {

namespace {

constexpr char kWords[] = "doctor --node";
constexpr RemoteProgram kProgram{"ddprun doctor", "without an answer"};

/// ssh ends its lines as on a terminal.
std::vector<std::string> without_returns(std::vector<std::string> lines) {
  for (std::string& line : lines)
    while (line.ends_with('\r')) line.pop_back();
  return lines;
}

/// OpenSSH has no other way to tell.
bool knows_no_such_host(const NoAnswer& no_answer) {
  return no_answer.status && no_answer.status->code == kSshFailed &&
         std::ranges::any_of(no_answer.last_words, [](const std::string& line) {
           return line.find("Could not resolve hostname") != std::string::npos;
         });
}

}  // namespace

std::vector<std::string> node_command(const HostReach& reach, const Host& host) {
  if (reach.srun.empty()) return ssh_command(reach.ssh, host, kWords);
  return {reach.srun,
          "--nodes=1",
          "--ntasks=1",
          "--nodelist=" + host.name,
          "--overlap",
          "--mem=0",
          "--cpu-bind=none",
          "--export=ALL",
          "--job-name=ddprun-doctor",
          reach.ssh.remote_path,
          "doctor",
          "--node"};
}

/// A node takes SSH_CONNECTION for the connection of its own login, and gives the others the
/// address there. sshd sets it for each login. srun, and a node that is this machine, would hand on
/// that of the user's login.
std::vector<std::string> without_own_login(std::vector<std::string> variables) {
  std::erase_if(variables,
                [](const std::string& entry) { return entry.starts_with("SSH_CONNECTION="); });
  return variables;
}

std::string why_no_answer(const HostReach& reach, const Host& host, const NoAnswer& no_answer) {
  const std::vector<std::string> last_words = without_returns(no_answer.last_words);
  const std::string words = fmt::format("{}", fmt::join(last_words, " | "));
  if (!no_answer.status) return words.empty() ? "no answer within 40 s" : words;
  if (reach.srun.empty())
    return why_host_failed(host, reach.ssh, false, *no_answer.status, last_words, kProgram);
  return fmt::format("srun {} on {} without an answer{}", describe(*no_answer.status), host.label(),
                     words.empty() ? "" : " (" + words + ")");
}

std::string advice_on_reaching(const HostReach& reach, const NoAnswer& no_answer) {
  if (!reach.srun.empty())
    return "ddprun has to be installed there (--remote-path), and the node has to be up: sinfo -N";
  if (knows_no_such_host(no_answer))
    return "correct the name, or add it to /etc/hosts or ~/.ssh/config";
  return "ddprun has to be installed there, and ssh has to work without a password; "
         "--remote-path and --ssh-cmd say how";
}

namespace {

Result<std::vector<Host>> named_hosts(const HostOptions& options, const LocalSystem& system) {
  if (!options.hosts.empty() && !options.hostfile.empty())
    return invalid("ddprun doctor: --hosts and --hostfile exclude each other");
  if (options.hostfile.empty())
    return parse_hosts({.text = options.hosts, .source = "--hosts", .given = true});
  const auto text = system.read_text(options.hostfile);
  if (!text) return invalid("ddprun doctor: --hostfile: " + text.error().message);
  return parse_hostfile(*text, options.hostfile);
}

std::vector<Host> as_hosts(const std::vector<std::string>& names) {
  std::vector<Host> hosts;
  hosts.reserve(names.size());
  for (const std::string& name : names) hosts.push_back({name, std::nullopt});
  return hosts;
}

/// Returns no hosts where there is no allocation of several nodes.
Result<ChosenHosts> allocated_hosts(const LocalSystem& system) {
  ChosenHosts chosen;
  const auto slurm = allocation(system);
  if (slurm && slurm->starter == Allocation::Starter::kSrun && slurm->nodes > 1) {
    const auto names = expand_slurm_hosts(text(system.environment, "SLURM_JOB_NODELIST"));
    if (!names) return Error{names.error().kind, "SLURM_JOB_NODELIST: " + names.error().message};
    chosen = {as_hosts(*names), {}, slurm->by};
    if (auto srun = system.find_program("srun")) chosen.reach.srun = std::move(*srun);
    return chosen;
  }
  const auto batch = batch_hosts(system);
  if (!batch) return batch.error();
  if (*batch && (*batch)->hosts.size() > 1) chosen = {as_hosts((*batch)->hosts), {}, (*batch)->by};
  return chosen;
}

Result<Ssh> ssh_of(const HostOptions& options, bool needed, const LocalSystem& system) {
  Ssh ssh{words_of(options.ssh), options.remote_path};
  if (ssh.words.empty()) return invalid("ddprun doctor: --ssh-cmd '': expected a command");
  if (ssh.remote_path.empty()) ssh.remote_path = system.own_path();
  if (!needed) return ssh;
  auto program = system.find_program(ssh.words.front());
  if (!program) return Error{program.error().kind, "--ssh-cmd: " + program.error().message};
  ssh.words.front() = std::move(*program);
  return ssh;
}

}  // namespace

Result<ChosenHosts> choose_hosts(const HostOptions& options, const LocalSystem& system) {
  ChosenHosts chosen;
  if (!options.hosts.empty() || !options.hostfile.empty()) {
    auto hosts = named_hosts(options, system);
    if (!hosts) return hosts.error();
    chosen.hosts = std::move(*hosts);
  } else if (!options.no_cluster) {
    auto allocated = allocated_hosts(system);
    if (!allocated) return allocated.error();
    chosen = std::move(*allocated);
  }
  if (chosen.hosts.empty()) return chosen;
  auto ssh = ssh_of(options, chosen.reach.srun.empty(), system);
  if (!ssh) return ssh.error();
  chosen.reach.ssh = std::move(*ssh);
  return chosen;
}

}  // namespace ddprun
