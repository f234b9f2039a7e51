// Where a command's process goes about its work.
#pragma once

#include <boost/asio/io_context.hpp>

#include "agent/console.hpp"

namespace ddprun {

struct Stage {
  boost::asio::io_context& io;
  Console& out;
  Console& err;
};

}  // namespace ddprun
