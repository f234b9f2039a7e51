// What find_crash() makes of a program's output, as one line that tests can compare.
#pragma once

#include <csignal>
#include <string>
#include <string_view>

#include "rendezvous/verdict/find_crash.hpp"

namespace ddprun {

inline const ExitStatus kCode1{.code = 1};
inline const ExitStatus kAborted{.signal = SIGABRT};

/// "TYPE at FILE:LINE: MESSAGE" of what ended the program; "" when nothing is found.
inline std::string crash_of(std::string_view text, const ExitStatus& status = kCode1) {
  const auto crash = find_crash(text, status);
  if (!crash) return "";
  const Fault& fault = crash->raised.back().fault;
  return fault.type + " at " + fault.file + ":" + std::to_string(fault.line) + ": " + fault.message;
}

}  // namespace ddprun
