// System calls by their numbers, for C libraries that have no functions for them, and what stands
// in for those that an old kernel lacks. ddprun runs with glibc 2.17 and with Linux 4.18.
#pragma once

#include <sys/types.h>

#include <cstddef>

// A function that a child runs in its parent's memory: a sanitizer would keep notes there, on a
// stack that is never left.
#define DDPRUN_UNSANITIZED __attribute__((no_sanitize("address", "undefined", "thread")))

namespace ddprun {

/// As memfd_create(2): returns a file in memory, or -1 with errno.
int memory_file(const char* name, unsigned flags);

/// As getrandom(2) without flags: returns how many bytes it wrote, or -1 with errno.
ssize_t random_bytes(void* bytes, std::size_t size);

/// As pidfd_open(2): returns a file that stands for any process, or -1 with errno. Linux before 5.3
/// has none.
int open_process(pid_t process);

/// Sends a signal to `process` by its `file` of open_process(), so that no other process gets it
/// that has taken the number meanwhile. By the number where there is no file (-1), or where the
/// kernel, or a container's filter, has no pidfd_send_signal(2).
void signal_process(int file, pid_t process, int signal);

/// Returns a file that becomes readable when a child of this process has ended, no matter which
/// code reaps it, or -1 with errno. If the kernel, or a container's filter, has no pidfd_open(2), a
/// thread waits.
int watch_child(pid_t child);

/// The thread's way of watch_child(), for any kernel.
int watch_child_by_thread(pid_t child);

/// As sigaction(2) with SIG_DFL, for a child that has its parent's memory: a sanitizer notes there
/// which handlers a process has, so that the parent would lose them.
void take_default_action(int signal);

/// Closes all files from `first` on, as close_range(2). It takes no memory and no lock: a child
/// that has yet to execute its program may call it.
void close_files_from(int first);

/// close_files_from() for any kernel.
void close_listed_files_from(int first);

/// Gives the calling thread a table of open files of its own, with nothing in it but the file
/// `kept` and /dev/null as 0, 1 and 2. Processes that other threads start do not inherit what it
/// opens, and its numbers mean nothing to them: so an event loop of theirs cannot be woken up from
/// here but by `kept`. Returns false, and changes nothing, where the kernel or a container's filter
/// refuses, and under ThreadSanitizer, which knows one table a process.
bool take_own_files(int kept);

}  // namespace ddprun
