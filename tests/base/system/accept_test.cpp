#include "base/system/accept.hpp"

#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <sstream>
#include <vector>

#include "base/coroutines.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/run_until.hpp"

namespace ddprun {
namespace {

using asio::ip::tcp;

const tcp::endpoint kAnyPort{asio::ip::address_v4::loopback(), 0};

// Takes the lines of the log while it lives.
class LogCapture {
 public:
  LogCapture() {
    const auto sink = std::make_shared<spdlog::sinks::ostream_sink_st>(lines_, true);
    spdlog::set_default_logger(std::make_shared<spdlog::logger>("test", sink));
  }
  ~LogCapture() { spdlog::set_default_logger(before_); }
  bool has(const std::string& text) const { return lines_.str().find(text) != std::string::npos; }

 private:
  const std::shared_ptr<spdlog::logger> before_ = spdlog::default_logger();
  std::ostringstream lines_;
};

// No descriptor can be opened while it lives.
class NoDescriptors {
 public:
  NoDescriptors() {
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &before_) == 0);
    const int lowest_free = ::dup(0);
    REQUIRE(lowest_free >= 0);
    ::close(lowest_free);
    const rlimit none{static_cast<rlim_t>(lowest_free), before_.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
  }
  ~NoDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

// A listener and those that it has accepted.
struct AcceptFixture {
  AcceptFixture() {
    auto listening = listen_on(io.get_executor(), kAnyPort);
    REQUIRE(listening.has_value());
    acceptor = std::move(*listening);
    co_spawn(io, accept_all(acceptor, [this](tcp::socket s) { accepted.push_back(std::move(s)); }),
             [this](const std::exception_ptr& failure) {
               report_failure("accepting")(failure);
               ended = true;
             });
  }

  tcp::socket connect() {
    tcp::socket client{io};
    client.connect(acceptor.local_endpoint());
    return client;
  }

  template <typename Condition>
  void run_until(const char* what, Condition&& condition) {
    ddprun::run_until(io, what, condition);
  }

  asio::io_context io{1};
  tcp::acceptor acceptor{io};
  std::vector<tcp::socket> accepted;
  bool ended = false;
};

TEST_CASE_METHOD(AcceptFixture, "every connection is handed over, until the listener is closed") {
  const auto one = connect();
  const auto two = connect();
  run_until("both are accepted", [&] { return accepted.size() == 2; });
  CHECK(accepted[0].remote_endpoint() == one.local_endpoint());
  CHECK(accepted[1].remote_endpoint() == two.local_endpoint());
  acceptor.close();
  run_until("accepting ends", [&] { return ended; });
}

TEST_CASE_METHOD(AcceptFixture, "a crowd does not wait for a turn of the event loop for each") {
  std::vector<tcp::socket> crowd;
  for (int i = 0; i < 64; ++i) crowd.push_back(connect());
  int turns = 0;
  while (accepted.size() < crowd.size() && turns < 64) turns += io.run_one() > 0 ? 1 : 64;
  REQUIRE(accepted.size() == crowd.size());
  CHECK(turns < 32);
  CHECK(accepted[63].remote_endpoint() == crowd[63].local_endpoint());
}

TEST_CASE_METHOD(AcceptFixture, "who connects while no descriptor is free is served later") {
  const LogCapture log;
  const auto client = connect();
  {
    const NoDescriptors limit;
    run_until("accepting has failed", [&] { return log.has("cannot accept a connection"); });
    CHECK(accepted.empty());
  }
  run_until("the client is accepted", [&] { return accepted.size() == 1; });
  CHECK_FALSE(ended);
}

TEST_CASE_METHOD(AcceptFixture, "a listener that is closed while it pauses ends accepting") {
  const LogCapture log;
  const auto client = connect();
  const NoDescriptors limit;
  run_until("accepting has failed", [&] { return log.has("cannot accept a connection"); });
  acceptor.close();
  run_until("accepting ends", [&] { return ended; });
  CHECK(accepted.empty());
}

TEST_CASE("a port that is taken is an error that names the address") {
  asio::io_context io;
  const auto first = listen_on(io.get_executor(), kAnyPort);
  REQUIRE(first.has_value());
  const auto taken = first->local_endpoint();
  const auto second = listen_on(io.get_executor(), taken);
  REQUIRE(second.has_error());
  CHECK(second.error().kind == Error::Kind::kUnavailable);
  CHECK(second.error().message == "cannot listen on 127.0.0.1 port " +
                                      std::to_string(taken.port()) + ": Address already in use");
}

}  // namespace
}  // namespace ddprun
