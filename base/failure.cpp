#include "base/failure.hpp"

#include "base/signal_names.hpp"

namespace ddprun {

std::string signal_name(int signal) {
  const std::string_view name = signal_abbreviation(signal);
  return name.empty() ? "signal " + std::to_string(signal) : "SIG" + std::string{name};
}

std::string describe(const ExitStatus& status, bool many) {
  if (status.signal == 0) return "exited with code " + std::to_string(status.code);
  return (many ? "were" : "was") + std::string{" killed by "} + signal_name(status.signal) +
         " (signal " + std::to_string(status.signal) +
         (status.core_dumped ? ", core dumped)" : ")");
}

}  // namespace ddprun
