// What /proc tells of a process and the processes below it. Format: proc(5).
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ddprun {

struct ProcessFacts {
  pid_t pid = 0;
  pid_t parent = 0;
  std::string name;                      // "python3"
  char state = '?';                      // R S D T t Z, as ps(1) has them
  bool exiting = false;                  // on its way out of the kernel, or a zombie
  std::chrono::milliseconds cpu{0};      // used so far, by all its threads
  std::chrono::milliseconds started{0};  // since the machine was
  int last_cpu = 0;                      // the one on which it was last
  std::int64_t major_faults = 0;         // pages that it waited for until a disk had read them
};

/// Reads the text of /proc/PID/stat; nullopt when it is none. Pure. `ticks` are those of a second
/// (sysconf(3), _SC_CLK_TCK).
std::optional<ProcessFacts> parse_stat(std::string_view text, long ticks);

/// The children of a process that /proc calls so: by a number, or "self".
std::vector<pid_t> listed_children(const std::string& process);

/// A process as it is now; nullopt when it has ended.
std::optional<ProcessFacts> read_process(pid_t pid);

/// Whether all threads of the process are on their way out of the kernel, so that no signal can
/// change how it ends. Its connections are closed on that way. False where /proc does not show it.
bool is_ending(pid_t pid);

/// A process and all below it, the process first; empty when it has ended. At most 4096 of them.
std::vector<ProcessFacts> read_process_tree(pid_t pid);

/// The process and those above it, the nearest first.
std::vector<pid_t> read_lineage(pid_t pid);

/// The words of the process's command line; none when it has ended (proc_pid_cmdline(5)).
std::vector<std::string> read_command_line(pid_t pid);

/// How long a thread was on a CPU, and how long it was ready and waited for one.
struct ThreadTimes {
  std::chrono::microseconds ran{0};
  std::chrono::microseconds waited{0};
};

/// Reads the text of a schedstat file, of /proc/PID or /proc/PID/task/TID; nullopt when it is none
/// (https://docs.kernel.org/scheduler/sched-stats.html). Pure.
std::optional<ThreadTimes> parse_thread_times(const std::string& text);

/// The times of a process's main thread; 0 where the kernel does not tell.
ThreadTimes read_main_thread_times(pid_t pid);

/// The function of the kernel in which the process sleeps, "futex_wait_queue"; "" when it does not,
/// or the kernel does not tell.
std::string read_wait_channel(pid_t pid);

/// Whether the process has a handler for the signal.
bool handles_signal(pid_t pid, int signal);

/// Whether the process blocks the signal, to take it by sigwait(3) or signalfd(2).
bool awaits_signal(pid_t pid, int signal);

/// Whether the process ignores the signal, as the jobs do that a script starts with `&`.
bool ignores_signal(pid_t pid, int signal);

}  // namespace ddprun
