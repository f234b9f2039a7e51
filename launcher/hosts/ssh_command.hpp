// Decides how a host is reached by ssh, and what its failures mean. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/failure.hpp"
#include "launcher/hosts/host_list.hpp"

namespace ddprun {

/// The code with which ssh ends when it fails itself (ssh(1): "or with 255 if an error occurred").
inline constexpr int kSshFailed = 255;

/// What is run here and there.
struct Ssh {
  std::vector<std::string> words;  // the words of --ssh-cmd: "ssh" and options
  std::string remote_path;         // the path of ddprun on the hosts
};

/// Cuts a text at blanks.
std::vector<std::string> words_of(const std::string& text);

/// Returns the argv that starts ddprun on `host` with the words `command`. OpenSSH gets options not
/// to ask for passwords, which no user could enter on many hosts at once, and to notice a host that
/// is gone; another program (that is not called ssh) gets the host and the command alone.
std::vector<std::string> ssh_command(const Ssh& ssh, const Host& host,
                                     const std::string& command = "agent");

/// What runs there, for sentences.
struct RemoteProgram {
  const char* name = "the agent";
  const char* silence = "without a word on the job";
};

/// Returns a sentence on why the agent on `host` is not there, or has gone without a word.
/// `greeted` says whether it had said hello; `last_words` are those of ssh and of the login there.
std::string why_host_failed(const Host& host, const Ssh& ssh, bool greeted,
                            const ExitStatus& status, const std::vector<std::string>& last_words,
                            const RemoteProgram& program = {});

}  // namespace ddprun
