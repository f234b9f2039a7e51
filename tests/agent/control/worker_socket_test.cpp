#include "agent/control/worker_socket.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include "tests/support/event_loop.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;
using asio::local::stream_protocol;

TEST_CASE("a worker's lines are read, and others are refused with a sentence") {
  const auto hello =
      parse_worker_line(R"({"type":"hello","local_rank":1,"round":3,"resize":true})");
  CHECK(std::get<WorkerHello>(hello.value()) == WorkerHello{1, 3});
  CHECK(std::get<Parked>(parse_worker_line(R"({"type":"parked","round":4})").value()).round == 4);
  CHECK(std::get<Stuck>(parse_worker_line(R"({"type":"stuck","round":4})").value()).round == 4);
  const auto holding = parse_worker_line(R"({"type":"holding","round":4,"step":811})");
  CHECK(std::get<Holding>(holding.value()) == Holding{4, 811});
  CHECK(std::holds_alternative<CannotStay>(parse_worker_line(R"({"type":"goodbye"})").value()));
  for (const char* const line :
       {"", "{", "[]", "{}", R"({"type":7})", R"({"type":"hallo"})",
        R"({"type":"hello","round":1})", R"({"type":"parked","round":1.5})",
        R"({"type":"parked","round":99999999999})", R"({"type":"holding","round":4,"step":-2})",
        R"({"type":"holding","round":4,"step":9223372036854775807})"}) {
    CAPTURE(line);
    const auto refused = parse_worker_line(line);
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().message.starts_with("a worker says"));
  }
}

class WorkerSocketFixture {
 protected:
  WorkerSocketFixture() {
    REQUIRE(socket_.open(folder_.path()).has_value());
    socket_.begin(7s, [this](const WorkerSaid& word) { heard_.push_back(word); });
  }

  stream_protocol::socket connects() {
    stream_protocol::socket socket{loop_.executor()};
    socket.connect(stream_protocol::endpoint{socket_.path()});
    return socket;
  }
  void says(stream_protocol::socket& socket, const std::string& line) {
    asio::write(socket, asio::buffer(line + "\n"));
  }
  void heard(std::size_t words) {
    loop_.run_until([&] { return heard_.size() >= words; }, "a worker's word");
  }
  std::string next(stream_protocol::socket& socket) {
    return loop_.run(line_of(socket), "a line of the agent");
  }
  /// The next line; "": the connection has been closed.
  static asio::awaitable<std::string> line_of(stream_protocol::socket& socket) {
    std::string text;
    const auto [error, length] = co_await asio::async_read_until(
        socket, asio::dynamic_buffer(text), '\n', asio::as_tuple(asio::use_awaitable));
    co_return error ? "" : text.substr(0, length - 1);
  }

  ScratchFolder folder_;
  EventLoop loop_;
  WorkerSocket socket_{loop_.executor(), 2};
  std::vector<WorkerSaid> heard_;
};

TEST_CASE_METHOD(WorkerSocketFixture, "a worker says hello, is asked to leave, and enters again") {
  auto worker = connects();
  says(worker, R"({"type":"hello","local_rank":1,"round":3,"resize":true})");
  heard(1);
  CHECK(heard_[0].local_rank == 1);
  CHECK(std::get<CanStay>(heard_[0].what).round == 3);
  CHECK(next(worker) == R"({"patience_s":7.0,"type":"welcome"})");
  socket_.tell_all(order_line(AskToHold{3}));
  CHECK(next(worker) == R"({"round":3,"type":"hold"})");
  socket_.tell_all(order_line(AskToLeaveAfter{{3, 812}}));
  CHECK(next(worker) == R"({"round":3,"step":812,"type":"leave_after"})");
  socket_.tell_all(order_line(AskToLeave{3}));
  CHECK(next(worker) == R"({"round":3,"type":"leave"})");
  says(worker, R"({"type":"parked","round":3})");
  heard(2);
  CHECK(std::get<Parked>(heard_[1].what).round == 3);
  socket_.enter(1, 4, {{"RANK", "5"}});
  CHECK(next(worker) == R"({"environment":{"RANK":"5"},"round":4,"type":"enter"})");
}

TEST_CASE_METHOD(WorkerSocketFixture,
                 "a worker whose round is known before it says hello hears of it then") {
  socket_.enter(0, 4, {{"RANK", "5"}});
  auto worker = connects();
  says(worker, R"({"type":"hello","local_rank":0,"round":0,"resize":true})");
  heard(1);
  std::string text;
  const std::string both =
      "{\"patience_s\":7.0,\"type\":\"welcome\"}\n"
      "{\"environment\":{\"RANK\":\"5\"},\"round\":4,\"type\":\"enter\"}\n";
  text.resize(both.size());
  asio::read(worker, asio::buffer(text));
  CHECK(text == both);
}

TEST_CASE_METHOD(WorkerSocketFixture, "a round of before is none for workers that are restarted") {
  socket_.enter(0, 4, {});
  socket_.enter(1, 4, {});
  auto worker = connects();
  says(worker, R"({"type":"hello","local_rank":0,"round":4,"resize":true})");  // it was started for
                                                                               // that round
  socket_.forget({1});
  auto parked = connects();
  says(parked, R"({"type":"hello","local_rank":1,"round":0,"resize":true})");
  heard(2);
  for (auto* const socket : {&worker, &parked}) {
    CHECK(next(*socket) == R"({"patience_s":7.0,"type":"welcome"})");
    CHECK(socket->available() == 0);
  }
}

TEST_CASE_METHOD(WorkerSocketFixture, "who says nonsense, or no hello first, is hung up on") {
  for (const char* const line : {"nonsense", R"({"type":"parked","round":1})",
                                 R"({"type":"hello","local_rank":2,"round":1,"resize":true})"}) {
    auto worker = connects();
    says(worker, line);
    CHECK(next(worker).empty());
  }
  CHECK(heard_.empty());
  auto endless = connects();
  asio::write(endless, asio::buffer(std::string(kWorkerLineBytesMax, 'x')));
  CHECK(next(endless).empty());
}

TEST_CASE_METHOD(WorkerSocketFixture, "the process that has said hello last is the worker") {
  auto first = connects();
  says(first, R"({"type":"hello","local_rank":0,"round":1,"resize":true})");
  heard(1);
  next(first);
  auto second = connects();
  says(second, R"({"type":"hello","local_rank":0,"round":2,"resize":true})");
  heard(2);
  next(second);
  first.close();
  socket_.enter(0, 3, {});
  CHECK(next(second) == R"({"environment":{},"round":3,"type":"enter"})");
}

constexpr char kHello[] = R"({"type":"hello","local_rank":0,"round":0,"resize":true})";

TEST_CASE_METHOD(WorkerSocketFixture, "what a worker has said is not heard of the one after it") {
  auto first = connects();
  says(first, kHello);
  heard(1);
  says(first, R"({"type":"parked","round":0})");  // nobody has read it when it is replaced
  socket_.forget({0});
  auto second = connects();
  says(second, kHello);
  heard(2);
  next(second);
  CHECK(std::holds_alternative<CanStay>(heard_.back().what));
  next(first);
  CHECK(next(first).empty());
}

TEST_CASE_METHOD(WorkerSocketFixture, "who has lost the seat to another process is hung up on") {
  auto first = connects();
  says(first, kHello);
  heard(1);
  next(first);
  auto second = connects();
  says(second, kHello);
  heard(2);
  says(first, R"({"type":"goodbye"})");
  CHECK(next(first).empty());
  CHECK(heard_.size() == 2);
}

TEST_CASE_METHOD(WorkerSocketFixture, "the hello of a process that has ended is not heard") {
  const pid_t gone = fork();
  if (gone == 0) {
    auto worker = connects();
    says(worker, kHello);
    _exit(0);
  }
  REQUIRE(waitpid(gone, nullptr, 0) == gone);
  auto worker = connects();
  says(worker, R"({"type":"hello","local_rank":1,"round":0,"resize":true})");
  heard(1);
  next(worker);
  REQUIRE(heard_.size() == 1);
  CHECK(heard_.front().local_rank == 1);
}

}  // namespace
}  // namespace ddprun
