// What every command of ddprun works with.
#pragma once

#include <boost/asio/io_context.hpp>

#include "agent/console.hpp"

namespace ddprun {

/// The event loop of the process, and its standard output and error.
struct Stage {
  boost::asio::io_context& io;
  Console& out;
  Console& err;
};

}  // namespace ddprun
