// The reader of what a command writes may have enough of it, as `head` has.
#pragma once

#include <boost/asio/awaitable.hpp>

#include "base/asio.hpp"

namespace ddprun {

/// Resolves when nobody can read any more what is written to the descriptor `fd`: the reader of a
/// pipe has gone, a terminal has been closed. Of a file that is never.
asio::awaitable<void> reader_leaves(int fd);

}  // namespace ddprun
