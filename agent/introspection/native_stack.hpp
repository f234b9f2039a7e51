// The stack of a process that is no Python program, by eu-stack (elfutils) where it is installed.
#pragma once

#include <sys/types.h>

#include <boost/asio/awaitable.hpp>
#include <string>
#include <string_view>

#include "base/asio.hpp"

namespace ddprun {

/// Reads what eu-stack writes: the frames of the main thread as StackGroup has them, "" when there
/// are none. Pure. Format: eu-stack(1), lines such as
/// "#1  0x00007f main - /usr/bin/train" and, with -s, "    /src/train.cpp:12:3".
std::string parse_native_stack(std::string_view text);

/// The stack of the process's main thread; "" where eu-stack is missing, may not look at the
/// process, or takes longer than 500 ms.
asio::awaitable<std::string> native_stack(pid_t pid);

}  // namespace ddprun
