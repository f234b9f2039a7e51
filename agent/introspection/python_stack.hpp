// Python stacks as the module faulthandler writes them, and what they tell of a worker. Pure.
// Format: https://docs.python.org/3/library/faulthandler.html
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rendezvous/verdict/crash.hpp"

namespace ddprun {

/// A thread's frames, the innermost first.
using Frames = std::vector<Frame>;

/// Reads the stacks of all threads that have Python frames, in the order of the text: the main
/// thread is the last one. Lines that are no part of a stack are passed over.
std::vector<Frames> parse_python_stacks(std::string_view text);

/// Whether the main thread waits for the end of another thread.
enum class ThreadWait {
  kNo,
  kJoin,    // the program has called join()
  kAtExit,  // the program has ended, and Python waits for threads that are no daemons
};
ThreadWait thread_wait(const std::vector<Frames>& threads);

/// The thread's that tells where the program is: the main thread's, and where that only waits for
/// another thread, the one's that it waits for. Empty when there is none.
Frames telling_thread(const std::vector<Frames>& threads);

/// The operation of torch.distributed in which the innermost frame waits for other ranks, such as
/// "recv" or "init_process_group"; nullopt: it is in none.
std::optional<std::string> waits_for_others(const Frames& frames);

/// Whether the innermost frames wait for a process of a torch DataLoader.
bool waits_for_data_loader(const Frames& frames);

/// Whether a DataLoader's process waits for something to do.
bool waits_for_work(const Frames& frames);

/// "load_batch (train.py:12)".
std::string describe(const Frame& frame);

}  // namespace ddprun
