// WatchFolder: a private folder with the hook that Python workers run when they start, and with the
// sockets and files that they open there.
//
// The hook is sitecustomize.py, which the interpreter imports by itself from PYTHONPATH
// (https://docs.python.org/3/library/site.html). It has the name of its files from
// DDPRUN_INTROSPECTION, removes both from the worker's environment and runs the user's own
// sitecustomize. Where torch.distributed is imported it opens torch's worker server at
// NAME.PID.sock; what faulthandler writes when it is asked by a signal goes to NAME.PID.stacks.
// Orders for debuggers lie in files beside them, and a worker that waits for one says so in
// NAME.waits: see debug_orders.hpp.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <filesystem>
#include <optional>
#include <string>

#include "base/result.hpp"

namespace ddprun {

/// Asks a Python worker to carry out its orders, or where there are none, for the stacks of all
/// threads. Python answers between two of its
/// instructions, so not while the main thread is in native code. Nothing else is known to use these
/// numbers.
inline const int kSafeStackSignal = SIGRTMIN + 14;

/// Asks a Python worker for its main thread's stack. It answers at once, and only a thread in
/// native code may be asked: CPython 3.11 crashes where a thread that calls a function is.
inline const int kNativeStackSignal = SIGRTMIN + 13;

/// Tells a Python worker how many seconds it may wait for a debugger when it would end by an
/// exception.
inline constexpr char kDebugOnErrorVariable[] = "DDPRUN_DEBUG_ON_ERROR";

class WatchFolder {
 public:
  /// Makes it in the temporary directory, for this user alone; in /tmp where the path would be too
  /// long for a socket. Errors: kUnavailable.
  static Result<WatchFolder> make(const std::string& temporary_directory);

  WatchFolder(WatchFolder&& other) noexcept;
  WatchFolder& operator=(WatchFolder&& other) noexcept;
  ~WatchFolder();  // removes it with all that is in it

  const std::filesystem::path& path() const { return path_; }

  /// The files of one worker.
  struct Opened {
    std::filesystem::path socket;  // "": none
    std::filesystem::path stacks;  // "": none
    pid_t pid = 0;                 // the process that has opened them
  };
  /// Returns what the worker of that name has opened: its process that has opened a server last;
  /// without a server, the last one that has started.
  std::optional<Opened> opened_by(const std::string& name) const;

  /// Writes a file for a worker, who sees all of it or nothing. Returns whether it could.
  bool write(const std::string& file, const std::string& text) const;

  /// Forgets the files of earlier rounds.
  void clear() const;

 private:
  explicit WatchFolder(std::filesystem::path path) : path_{std::move(path)} {}
  std::filesystem::path path_;
};

/// The name of a worker's files.
std::string watch_name(int round, int local_rank);

}  // namespace ddprun
