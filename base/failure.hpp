// How a worker ended, and what there is to say about the first one that failed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ddprun {

/// The end of a process as wait(2) tells it: an exit code, or the signal that killed it.
struct ExitStatus {
  int code = 0;    // 0..255, meaningful when signal is 0
  int signal = 0;  // 0: it exited by itself
  bool core_dumped = false;

  bool ok() const { return code == 0 && signal == 0; }
  /// As a shell's `$?`: the code, or 128 + signal.
  int shell_code() const { return signal != 0 ? 128 + signal : code; }
  bool operator==(const ExitStatus&) const = default;
};

/// "SIGSEGV"; "signal 99" where the number has no name.
std::string signal_name(int signal);

/// "exited with code 3", "was killed by SIGSEGV (signal 11, core dumped)".
std::string describe(const ExitStatus& status);

/// Which worker failed, where, how, and the last that was heard of it.
struct WorkerFailure {
  std::string host;
  int group_rank = 0;
  int rank = 0;
  int local_rank = 0;
  std::int64_t pid = 0;
  ExitStatus status;
  std::int64_t time_unix_ms = 0;
  std::string evidence;        // what else is known of its end: out of memory
  std::string message;         // the exception the worker recorded, "" when it did not
  std::string traceback;       // of that exception
  std::string error_file;      // where it recorded that, "" when it did not
  std::string last_heartbeat;  // "step 120, loss 0.31, 0.4 s before"; "" when there was none
  std::vector<std::string> last_lines;  // of its output, oldest first; bytes made printable
  bool operator==(const WorkerFailure&) const = default;
};

}  // namespace ddprun
