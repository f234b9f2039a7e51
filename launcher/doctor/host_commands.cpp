#include "launcher/doctor/host_commands.hpp"

#include <spdlog/fmt/fmt.h>

namespace ddprun {

namespace {

constexpr char kWords[] = "doctor --node";
constexpr RemoteProgram kProgram{"ddprun doctor", "without an answer"};

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

/// A node takes SSH_CONNECTION for the connection by which ssh has come to it, and tells the others
/// the address there. sshd sets it anew. srun, and a node that is this machine, would hand on the
/// one of the user's login.
std::vector<std::string> without_own_login(std::vector<std::string> variables) {
  std::erase_if(variables,
                [](const std::string& entry) { return entry.starts_with("SSH_CONNECTION="); });
  return variables;
}

std::string why_no_answer(const HostReach& reach, const Host& host, const ExitStatus& status,
                          const std::vector<std::string>& last_words) {
  const bool said_nothing = last_words.empty() && status.code == 0 && status.signal == 0;
  if (said_nothing) return "no answer within 40 s";
  if (reach.srun.empty())
    return why_host_failed(host, reach.ssh, false, status, last_words, kProgram);
  std::string words;
  for (const std::string& line : last_words) words += (words.empty() ? "" : " | ") + line;
  return fmt::format("srun {} on {} without an answer{}", describe(status), host.label(),
                     words.empty() ? "" : " (" + words + ")");
}

std::string advice_on_reaching(const HostReach& reach) {
  if (reach.srun.empty())
    return "ddprun has to be installed there, and ssh has to work without a password; "
           "--remote-path and --ssh-cmd say how";
  return "ddprun has to be installed there (--remote-path), and the node has to be up: sinfo -N";
}

}  // namespace ddprun
