#include "launcher/commands/secret_command.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "agent/output/console.hpp"
#include "rendezvous/transport/fresh_secret.hpp"

namespace ddprun {

namespace {

constexpr char kHelp[] =
    "Prints a fresh secret for the nodes of a job:\n"
    "\n"
    "  ddprun secret > job7.secret\n"
    "  ddprun --secret-file job7.secret --nnodes 2 ...   # the same file on each node\n"
    "\n"
    "Usage: ddprun secret > FILE\n"
    "\n"
    "Only you can read FILE afterwards.\n";

/// The shell has made the file, usually readable for all. It is still empty.
Result<void> keep_to_owner(int output) {
  struct stat what {};
  if (fstat(output, &what) != 0 || !S_ISREG(what.st_mode)) return {};
  if (fchmod(output, S_IRUSR | S_IWUSR) == 0) return {};
  return Error{
      Error::Kind::kUnavailable,
      std::string{"the file for the secret cannot be kept from others: "} + std::strerror(errno)};
}

}  // namespace

Result<int> run_secret(const std::vector<std::string>& words, const CommandContext& context) {
  if (words == std::vector<std::string>{"--help"} || words == std::vector<std::string>{"-h"}) {
    context.out.write(kHelp);
    return 0;
  }
  if (!words.empty())
    return Error{Error::Kind::kInvalid, "ddprun secret takes no arguments: ddprun secret > FILE"};
  if (const auto kept = keep_to_owner(STDOUT_FILENO); !kept) return kept.error();
  const auto secret = fresh_secret();
  if (!secret) return secret.error();
  context.out.write(to_text(*secret) + "\n");
  return 0;
}

}  // namespace ddprun
