#include "agent/introspection/worker_server.hpp"

#include <sys/socket.h>
#include <sys/un.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <cerrno>
#include <chrono>
#include <optional>
#include <vector>

#include "base/clock.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;
using Protocol = asio::local::stream_protocol;

struct Asked {
  ScratchFolder scratch;
  asio::io_context io;
  std::filesystem::path path = scratch.path() / "sock";
  std::optional<Result<std::string>> answer;

  /// Runs the question to its end, or for a minute.
  void ask(std::chrono::milliseconds patience) {
    asio::co_spawn(io, ask_worker(path, "ping", patience),
                   [this](const std::exception_ptr& thrown, Result<std::string> heard) {
                     REQUIRE_FALSE(thrown);
                     answer = std::move(heard);
                     io.stop();
                   });
    io.run_for(60s);
  }
};

TEST_CASE_METHOD(Asked, "if no process listens, a worker's server is unavailable") {
  ask(1s);
  REQUIRE(answer.has_value());
  REQUIRE_FALSE(answer->has_value());
  CHECK(answer->error().kind == Error::Kind::kUnavailable);
}

TEST_CASE_METHOD(Asked, "a worker's server that answers nothing is given up at the deadline") {
  Protocol::acceptor listening{io, Protocol::endpoint{path.string()}};
  ask(50ms);
  REQUIRE(answer.has_value());
  REQUIRE_FALSE(answer->has_value());
  CHECK(answer->error().kind == Error::Kind::kTimeout);
}

TEST_CASE_METHOD(Asked, "a worker's server that takes no connection is given up, too") {
  Protocol::acceptor listening{io, Protocol{}};
  listening.bind(Protocol::endpoint{path.string()});
  listening.listen(0);
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  path.string().copy(address.sun_path, sizeof address.sun_path - 1);
  std::vector<Protocol::socket> waiting;  // as many as its backlog has room for, and one more
  do {
    waiting.emplace_back(io, Protocol{}).non_blocking(true);
  } while (::connect(waiting.back().native_handle(), reinterpret_cast<const sockaddr*>(&address),
                     sizeof address) == 0);
  REQUIRE(errno == EAGAIN);
  ask(50ms);
  REQUIRE(answer.has_value());
  CHECK_FALSE(answer->has_value());
}

}  // namespace
}  // namespace ddprun
