#include "launcher/hosts/ssh_command.hpp"

#include <fmt/format.h>

#include <array>
#include <sstream>
#include <string_view>

#include "base/exit_code.hpp"
#include "launcher/settings/words.hpp"

namespace ddprun {

namespace {

/// When an option has several values, ssh takes the first. So the user's options win over these,
/// which stand behind them, and these win over ssh's configuration.
constexpr std::array kOptions = {
    "BatchMode=yes",          // no user could answer a question
    "ConnectTimeout=10",      // seconds
    "ServerAliveInterval=5",  // a host that is silent for 15 s is lost
    "ServerAliveCountMax=3",
    "ControlMaster=no",  // no process of ours stays behind for later connections
    "LogLevel=ERROR",    // a configuration may have silenced its reasons
};

struct Reason {
  std::string_view said;
  const char* sentence;  // {0} is the host, {1} its name as ssh takes it
};

/// Each is a part of what OpenSSH says, and a sentence on what to do about it.
constexpr std::array kReasons = {
    Reason{"Could not resolve hostname", "no host is known by the name {0}: is it spelled right?"},
    Reason{"Permission denied",
           "{0} refuses the key: 'ssh {1}' has to work without a password (ssh-copy-id puts a key "
           "there, ssh-add unlocks it; ddprun never asks)"},
    Reason{"Host key verification failed",
           "the host key of {0} is unknown here or has changed: 'ssh {1}' once by hand shows it"},
    Reason{"REMOTE HOST IDENTIFICATION HAS CHANGED",
           "the host key of {0} has changed: 'ssh {1}' by hand tells more"},
    Reason{"Connection refused", "no ssh server listens on {0}"},
    Reason{"timed out", "{0} does not answer"},
    Reason{"No route to host", "there is no way to {0}"},
    Reason{"Network is unreachable", "there is no way to {0}"},
    Reason{"not responding", "{0} does not answer any more"},
};

std::string joined(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) {
    if (line.find_first_not_of(' ') == std::string::npos) continue;
    out += (out.empty() ? "" : " | ") + line;
  }
  return out;
}

std::string with_words(const std::string& sentence, const std::string& words) {
  return words.empty() ? sentence : fmt::format("{} ({})", sentence, words);
}

/// Quotes a path for the shell of the host. A leading "~/" is left to that shell, which puts the
/// login's home in its place.
std::string remote_word(const std::string& path) {
  return path.starts_with("~/") ? "~/" + shell_word(path.substr(2)) : shell_word(path);
}

}  // namespace

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in{text};
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

std::vector<std::string> ssh_command(const Ssh& ssh, const Host& host, const std::string& command) {
  std::vector<std::string> words = ssh.words;
  const std::string& program = ssh.words.front();
  if (program.substr(program.rfind('/') + 1) == "ssh") {
    for (const char* option : kOptions) words.insert(words.end(), {"-o", option});
    words.insert(words.end(), {"-T", "--"});
  }
  words.push_back(host.name);
  words.push_back(remote_word(ssh.remote_path) + " " + command);
  return words;
}

std::string why_host_failed(const Host& host, const Ssh& ssh, bool greeted,
                            const ExitStatus& status, const std::vector<std::string>& last_words,
                            const RemoteProgram& program) {
  const std::string name = host.label();
  const std::string words = joined(last_words);
  if (!greeted && status.code == kProgramNotFound)
    return with_words(fmt::format("ddprun is not at {} on {}: --remote-path says where it is",
                                  ssh.remote_path, name),
                      words);
  if (!greeted && status.code == kProgramNotStarted)
    return with_words(fmt::format("{} on {} cannot be executed there", ssh.remote_path, name),
                      words);
  if (status.code == kSshFailed)
    for (const Reason& reason : kReasons)
      if (words.find(reason.said) != std::string::npos)
        return with_words(fmt::format(fmt::runtime(reason.sentence), name, host.name), words);
  if (status.code == kSshFailed && greeted)
    return with_words(
        fmt::format("{} is lost: its agent was killed, or the connection to it has ended", name),
        words);
  if (status.code == kSshFailed)
    return with_words(fmt::format("{} cannot reach {}", ssh.words.front(), name), words);
  return with_words(
      fmt::format("{} on {} {} {}", program.name, name, describe(status), program.silence), words);
}

}  // namespace ddprun
