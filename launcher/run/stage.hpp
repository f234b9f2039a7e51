// Where a command's process goes about its work.
#pragma once

// Only named here, so that a table of commands does not compile an event loop.
namespace boost::asio {
class io_context;
}

namespace ddprun {

class Console;

struct Stage {
  boost::asio::io_context& io;
  Console& out;
  Console& err;
};

}  // namespace ddprun
