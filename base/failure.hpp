// How a worker ended, what is known about one that failed, and the names of signals. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ddprun {

/// Returns the name of a signal of signal(7) without its "SIG", as "SEGV"; "" for a number without
/// one.
std::string_view signal_abbreviation(int signal);

/// Returns the number of such a name, as 11 for "SEGV"; nothing when no signal is called that.
std::optional<int> signal_of_abbreviation(std::string_view abbreviation);

/// The end of a process as wait(2) tells it: an exit code, or the signal that killed it.
struct ExitStatus {
  int code = 0;    // 0 to 255; it means something when signal is 0
  int signal = 0;  // 0: the process exited by itself
  bool core_dumped = false;

  /// Whether the process exited by itself with code 0.
  bool ok() const { return code == 0 && signal == 0; }

  /// Returns what a shell has in `$?`: the code, or 128 + signal.
  int shell_code() const { return signal != 0 ? 128 + signal : code; }
  bool operator==(const ExitStatus&) const = default;
};

/// Returns the name of a signal, as "SIGSEGV"; "signal 99" when the number has no name (signal(7)).
std::string signal_name(int signal);

/// Returns the end of a sentence that begins with the process: "exited with code 3", or "was killed
/// by SIGSEGV (signal 11, core dumped)"; of several processes if `many`.
std::string describe(const ExitStatus& status, bool many = false);

/// A worker that failed: which one it is, how it ended, and the last that was heard from it.
struct WorkerFailure {
  std::string host;    // the name of its node
  int group_rank = 0;  // the rank of its node
  int rank = 0;        // among all workers
  int local_rank = 0;  // among those of its node
  std::int64_t pid = 0;
  ExitStatus status;
  std::int64_t time_unix_ms = 0;        // when it ended: see unix_time_ms()
  std::string evidence;                 // why it may have ended, as that memory ran out; usually ""
  std::string message;                  // the exception that it recorded; "" when it did not
  std::string traceback;                // that exception's
  std::string error_file;               // the file in which it recorded that; "" when it did not
  std::string log_file;                 // the file with its output, of stderr if there are two
  std::string last_heartbeat;           // "step 120, loss 0.31, 0.4 s before"; "" without any
  std::vector<std::string> last_lines;  // its last output, the oldest first, in printable bytes
  bool operator==(const WorkerFailure&) const = default;
};

}  // namespace ddprun
