// How a worker ends that has failed: at once, and without waiting for anybody.
#pragma once

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

namespace ddprun::sdk {

/// Writes what is in the buffers of std::cout and of all FILEs, and ends the process. It calls
/// neither destructors of static objects nor functions of std::atexit().
[[noreturn]] void leave_process(int code);

/// Keeps `group`, with its connections and threads, until the process ends, which exit() then does
/// as leave_process(). For a group that an exception leaves behind: closing it may wait for ranks
/// that wait for this one, and would show them that somebody is gone before this rank has said why.
void abandon(c10::intrusive_ptr<c10d::ProcessGroup> group);

}  // namespace ddprun::sdk
