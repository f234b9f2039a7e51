// The stack of a process that is no Python program, by eu-stack (elfutils) where it is installed,
// else by gdb.
#pragma once

#include <sys/types.h>

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "base/asio.hpp"

namespace ddprun {

/// Reads what eu-stack writes: the frames of the main thread as StackGroup has them, "" when there
/// are none. Pure. Format: eu-stack(1), lines such as
/// "#1  0x00007f main - /usr/bin/train" and, with -s, "    /src/train.cpp:12:3".
std::string parse_native_stack(std::string_view text);

/// Reads what gdb's "thread apply all bt" writes, in the same way: the frames of thread 1. Pure.
/// Format: "Debugging with GDB", section "Backtraces", lines such as
/// "#1  0x00007f in load (n=...) at /src/train.cpp:12" and "#2  0x00007f in run () from /lib/x.so".
std::string parse_gdb_stack(std::string_view text);

/// A program that looks at another process. It stops that process while it looks.
enum class StackTool { kEuStack, kGdb };

/// What is installed; nullopt: neither is.
std::optional<StackTool> installed_stack_tool();

/// The stack of the process's main thread; "" where the tool may not look at the process, or takes
/// longer than `patience`. The process runs on afterwards in any case.
asio::awaitable<std::string> native_stack(pid_t pid, StackTool tool,
                                          std::chrono::milliseconds patience);

}  // namespace ddprun
