#include "launcher/hosts/ssh_command.hpp"

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using Words = std::vector<std::string>;

const Ssh kSsh{{"ssh"}, "/opt/bin/ddprun"};
const Host kHost{"me@h2", {}};

std::string why(int code, const Words& last_words, bool greeted = false) {
  return why_host_failed(kHost, kSsh, greeted, {.code = code}, last_words);
}

TEST_CASE("ssh never asks, and starts the agent by its path") {
  const Words command = ssh_command({words_of("ssh -p 2222"), "/opt/my bin/ddprun"}, kHost);
  CHECK(Words{command.begin(), command.begin() + 5} ==
        Words{"ssh", "-p", "2222", "-o", "BatchMode=yes"});
  CHECK(Words{command.end() - 4, command.end()} ==
        Words{"-T", "--", "me@h2", "'/opt/my bin/ddprun' agent"});
  CHECK(ssh_command({{"ssh"}, "~/bin/ddprun"}, kHost).back() == "~/bin/ddprun agent");
}

TEST_CASE("another program than ssh gets the host and the command alone") {
  CHECK(ssh_command({words_of("my-rsh -q"), "ddprun"}, kHost) ==
        Words{"my-rsh", "-q", "me@h2", "ddprun agent"});
}

TEST_CASE("every usual failure has a sentence that names the host and what to do") {
  CHECK_THAT(why(255, {"ssh: Could not resolve hostname h2: Name or service not known"}),
             contains("no host is known by the name h2: is it spelled right?"));
  CHECK_THAT(why(255, {"me@h2: Permission denied (publickey)."}),
             contains("h2 refuses the key: 'ssh me@h2' has to work without a password"));
  CHECK_THAT(why(255, {"Host key verification failed."}), contains("the host key of h2"));
  CHECK_THAT(why(255, {"ssh: connect to host h2 port 22: Connection refused"}),
             contains("no ssh server listens on h2"));
  CHECK_THAT(why(255, {"ssh: connect to host h2 port 22: Connection timed out"}),
             contains("h2 does not answer"));
  CHECK_THAT(why(255, {"kex_exchange: strange"}),
             contains("ssh cannot reach h2 (kex_exchange: strange)"));
  CHECK_THAT(why(127, {"bash: line 1: /opt/bin/ddprun: No such file or directory"}),
             contains("ddprun is not at /opt/bin/ddprun on h2: --remote-path says where it is"));
  CHECK_THAT(why(126, {}), contains("/opt/bin/ddprun on h2 cannot be executed there"));
  CHECK_THAT(
      why(1, {"profile: broken"}),
      contains("the agent on h2 exited with code 1 without a word on the job (profile: broken)"));
}

TEST_CASE("a host that goes in the middle is lost, whatever its agent's code would mean before") {
  CHECK_THAT(why(255, {}, true), contains("h2 is lost: its agent was killed, or the connection"));
  CHECK_THAT(why(255, {"Timeout, server h2 not responding."}, true),
             contains("h2 does not answer any more"));
  CHECK_THAT(why(127, {}, true), contains("the agent on h2 exited with code 127"));
}

}  // namespace
}  // namespace ddprun
