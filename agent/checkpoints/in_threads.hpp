// Files are read and copied by a few threads: one alone copies half as fast as two, and a restart
// waits for it.
#pragma once

#include <cstddef>
#include <functional>

namespace ddprun {

/// Calls work(0) to work(count - 1), each once, in any order and at the same time, and waits for
/// all. They must not throw. If no thread can be started, this one does all of it.
void in_threads(std::size_t count, const std::function<void(std::size_t)>& work);

}  // namespace ddprun
