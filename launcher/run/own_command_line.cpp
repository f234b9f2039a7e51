#include "launcher/run/own_command_line.hpp"

#include <unistd.h>

#include <vector>

#include "base/process/process_facts.hpp"
#include "launcher/record/hidden_secrets.hpp"
#include "launcher/settings/words.hpp"

namespace ddprun {

std::string own_command_line() {
  std::vector<std::string> words = without_secrets(read_command_line(getpid()));
  if (words.empty()) return "";
  words.front() = words.front().substr(words.front().rfind('/') + 1);
  return shell_words(words);
}

}  // namespace ddprun
