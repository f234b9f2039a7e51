#include "launcher/doctor/host_commands.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

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

}  // namespace ddprun
