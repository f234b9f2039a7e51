#include "base/failure.hpp"

#include <algorithm>
#include <array>
#include <csignal>

namespace ddprun {

namespace {

struct Name {
  int signal;
  std::string_view abbreviation;
};

constexpr std::array kNames{
    Name{SIGABRT, "ABRT"},     Name{SIGALRM, "ALRM"},     Name{SIGBUS, "BUS"},
    Name{SIGCHLD, "CHLD"},     Name{SIGCONT, "CONT"},     Name{SIGFPE, "FPE"},
    Name{SIGHUP, "HUP"},       Name{SIGILL, "ILL"},       Name{SIGINT, "INT"},
    Name{SIGKILL, "KILL"},     Name{SIGPIPE, "PIPE"},     Name{SIGPOLL, "POLL"},
    Name{SIGPROF, "PROF"},     Name{SIGPWR, "PWR"},       Name{SIGQUIT, "QUIT"},
    Name{SIGSEGV, "SEGV"},     Name{SIGSTKFLT, "STKFLT"}, Name{SIGSTOP, "STOP"},
    Name{SIGSYS, "SYS"},       Name{SIGTERM, "TERM"},     Name{SIGTRAP, "TRAP"},
    Name{SIGTSTP, "TSTP"},     Name{SIGTTIN, "TTIN"},     Name{SIGTTOU, "TTOU"},
    Name{SIGURG, "URG"},       Name{SIGUSR1, "USR1"},     Name{SIGUSR2, "USR2"},
    Name{SIGVTALRM, "VTALRM"}, Name{SIGWINCH, "WINCH"},   Name{SIGXCPU, "XCPU"},
    Name{SIGXFSZ, "XFSZ"}};

}  // namespace

std::string_view signal_abbreviation(int signal) {
  const auto found = std::ranges::find(kNames, signal, &Name::signal);
  return found != kNames.end() ? found->abbreviation : std::string_view{};
}

std::optional<int> signal_of_abbreviation(std::string_view abbreviation) {
  const auto found = std::ranges::find(kNames, abbreviation, &Name::abbreviation);
  return found != kNames.end() ? std::optional{found->signal} : std::nullopt;
}

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
