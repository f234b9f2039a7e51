#include "base/failure.hpp"

#include <cstring>

namespace ddprun {

std::string signal_name(int signal) {
  const char* abbreviation = sigabbrev_np(signal);
  return abbreviation ? std::string{"SIG"} + abbreviation : "signal " + std::to_string(signal);
}

std::string describe(const ExitStatus& status) {
  if (status.signal == 0) return "exited with code " + std::to_string(status.code);
  return "was killed by " + signal_name(status.signal) + " (signal " +
         std::to_string(status.signal) + (status.core_dumped ? ", core dumped)" : ")");
}

}  // namespace ddprun
