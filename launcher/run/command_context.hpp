// What every command of ddprun works with.
#pragma once

// Only named here, so that a table of commands does not compile an event loop.
namespace boost::asio {
class io_context;
}

namespace ddprun {

class Console;

/// The event loop of the process, and its standard output and error.
struct CommandContext {
  boost::asio::io_context& io;
  Console& out;
  Console& err;
};

}  // namespace ddprun
