#include "agent/introspection/nccl_ras.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include "base/coroutines.hpp"
#include "tests/support/event_loop.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;
using asio::ip::tcp;

constexpr char kStatus[] =
    "NCCL version 2.27.5 compiled with CUDA 12.9\n"
    "\n"
    "Job summary\n"
    "===========\n"
    "\n"
    "  Nodes  Processes         GPUs\n"
    "\n"
    "Communicators... (2.05s)\n"
    "=============\n"
    "\n"
    "Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors\n"
    "    0         1         4       7-8        32        32   RUNNING  INCOMPLETE\n"
    "\n"
    "Errors\n"
    "======\n"
    "\n"
    "#0-0 (cf264af53edbe986) INCOMPLETE\n"
    "  Missing communicator data from 1 rank\n"
    "  The missing rank: 21\n"
    "\n"
    "Warnings\n"
    "========\n"
    "\n"
    "TIMEOUT  \n"
    "  Encountered 2 communication timeouts while gathering communicator data\n";

using Lines = std::vector<std::string>;

TEST_CASE("of what NCCL says only what is wrong is reported") {
  CHECK(abridge_ras(kStatus) ==
        Lines{"#0-0 (cf264af53edbe986) INCOMPLETE", "  Missing communicator data from 1 rank",
              "  The missing rank: 21", "TIMEOUT",
              "  Encountered 2 communication timeouts while gathering communicator data"});
  CHECK(abridge_ras("Communicators... (0.00s)\n=====\n\n 0 1 RUNNING OK\n").empty());
  CHECK(abridge_ras("").empty());
  CHECK(abridge_ras("Errors\n").empty());
}

TEST_CASE("NCCL is asked where somebody waits in it") {
  HangReport hang;
  CHECK_FALSE(concerns_nccl(hang));
  hang.operation = "gloo:all_reduce";
  hang.stacks = {{.ranks = "1"}, {.ranks = "0", .operation = "gloo:all_reduce"}};
  CHECK_FALSE(concerns_nccl(hang));
  hang.stacks.back().operation = "nccl:all_reduce";
  CHECK(concerns_nccl(hang));
  CHECK(concerns_nccl({.operation = "nccl:broadcast"}));
}

TEST_CASE("many lines are cut, and bytes that are not printable do no harm") {
  std::string text = "Errors\n======\n";
  for (int i = 0; i < 40; ++i) text += "  Rank " + std::to_string(i) + "\n";
  const Lines lines = abridge_ras(text);
  REQUIRE(lines.size() == kRasLinesMax);
  CHECK(lines.front() == "  Rank 0");
  CHECK(lines.back() == "29 lines more");
  CHECK(abridge_ras("Errors\n======\na\x1b[31m" + std::string(500, 'x')).front().size() == 160);
  CHECK_THAT(abridge_ras("Errors\n======\na\x1b[31m").front(), contains("\\x1b"));
}

TEST_CASE("the service is where NCCL_RAS_ADDR says, as far as nobody has to look it up") {
  using Addresses = std::vector<RasAddress>;
  CHECK(ras_addresses(kRasDefault) == Addresses{{"127.0.0.1", 28028}, {"::1", 28028}});
  CHECK(ras_addresses("10.0.0.1:99") == Addresses{{"10.0.0.1", 99}});
  CHECK(ras_addresses("[fd77::1]:99") == Addresses{{"fd77::1", 99}});
  for (const char* none : {"", "localhost", "localhost:", "localhost:0", "localhost:70000",
                           "somewhere.example:99", ":99"})
    CHECK(ras_addresses(none).empty());
}

/// A service that hears three lines and answers each.
class RasFixture {
 protected:
  asio::awaitable<void> serve(Lines answers) {
    tcp::socket socket = co_await acceptor_.async_accept(asio::use_awaitable);
    std::string inbox;
    for (const std::string& answer : answers) {
      const auto [error, size] = co_await asio::async_read_until(
          socket, asio::dynamic_buffer(inbox), '\n', asio::as_tuple(asio::use_awaitable));
      if (error) co_return;
      heard_ += inbox.substr(0, size);
      inbox.erase(0, size);
      co_await asio::async_write(socket, asio::buffer(answer), asio::as_tuple(asio::use_awaitable));
    }
    if (answers.size() < 3) kept_.emplace(std::move(socket));
  }
  Result<std::string> ask(Lines answers, std::chrono::milliseconds patience = kTestPatience) {
    start_coroutine(loop_.executor(), serve(std::move(answers)), report_failure("the service"));
    return loop_.run(ask_ras({{"127.0.0.1", acceptor_.local_endpoint().port()}}, patience),
                     "NCCL's answer");
  }

  EventLoop loop_;
  tcp::acceptor acceptor_{loop_.executor(), {asio::ip::address_v4::loopback(), 0}};
  std::string heard_;
  std::optional<tcp::socket> kept_;
};

TEST_CASE_METHOD(RasFixture, "the service is asked as NCCL's own client asks it") {
  const auto said = ask({"SERVER PROTOCOL 2\n", "OK\n", kStatus});
  REQUIRE(said.has_value());
  CHECK(*said == kStatus);
  CHECK(heard_ == "CLIENT PROTOCOL 2\nTIMEOUT 2\nVERBOSE STATUS\n");
}

TEST_CASE_METHOD(RasFixture, "an answer without end is cut") {
  const auto said = ask({"SERVER PROTOCOL 2\n", "OK\n", std::string(kRasBytesMax + 9, 'x')});
  REQUIRE(said.has_value());
  CHECK(said->size() == kRasBytesMax);
}

TEST_CASE_METHOD(RasFixture,
                 "a service of another kind is reported, and a silent one not waited for") {
  CHECK_THAT(ask({"HTTP/1.1 400\n"}).error().message, contains("answers 'HTTP/1.1 400"));
  CHECK(ask({"SERVER PROTOCOL 2\n", "ERROR\n"}).error().kind == Error::Kind::kUnavailable);
  CHECK(ask({"SERVER PROTOCOL 2\n", ""}, 20ms).error().kind == Error::Kind::kTimeout);
  CHECK_THAT(ask({"no end of the line" + std::string(300, 'x')}).error().message,
             contains("does not answer"));
  acceptor_.close();
  CHECK_THAT(loop_.run(ask_ras({{"127.0.0.1", 1}}, 5s), "an error").error().message,
             contains("cannot be reached"));
}

}  // namespace
}  // namespace ddprun
