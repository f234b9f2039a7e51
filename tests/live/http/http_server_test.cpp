#include "live/http/http_server.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/local/connect_pair.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include "live/http/http_client.hpp"
#include "tests/support/event_loop.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;
using Local = asio::local::stream_protocol::socket;

class HttpFixture {
 protected:
  void serve_with(HttpLimits limits) {
    server_.emplace(loop_.executor(), limits,
                    [this](HttpRequest request) { return answer(std::move(request)); });
  }
  asio::awaitable<HttpReply> answer(HttpRequest request) {
    last_ = request;
    if (request.path == "/count") co_return HttpReply{{}, count_to_three};
    if (request.path == "/forever")
      co_return HttpReply{{}, [this](HttpStream& to) { return wait_for_ever(to); }};
    co_return HttpReply{{.body = "you said " + request.body}};
  }
  static asio::awaitable<void> count_to_three(HttpStream& stream) {
    for (const char* number : {"1", "2", "3"}) {
      const bool written = co_await stream.write(number);
      CHECK(written);
    }
  }
  asio::awaitable<void> wait_for_ever(HttpStream& stream) {
    waits_ = true;
    for (bool there = true; there;) there = co_await stream.pause(1h);
    waits_ = false;
  }

  /// A connection to the server.
  Local connect() {
    Local ours{loop_.executor()};
    Local theirs{loop_.executor()};
    asio::local::connect_pair(ours, theirs);
    server_->serve(HttpSocket{std::move(theirs)});
    return ours;
  }

  static asio::awaitable<std::string> exchange(Local& socket, std::string bytes) {
    constexpr auto kQuietly = asio::as_tuple(asio::use_awaitable);
    co_await asio::async_write(socket, asio::buffer(bytes), kQuietly);
    std::string heard;
    co_await asio::async_read(socket, asio::dynamic_buffer(heard), kQuietly);
    co_return heard;
  }
  /// All that the server says to these bytes, until it closes the connection.
  std::string said_to(const std::string& bytes) {
    Local socket = connect();
    return loop_.run(exchange(socket, bytes), "an answer");
  }

  EventLoop loop_;
  std::optional<HttpServer> server_;
  HttpRequest last_;
  bool waits_ = false;
};

TEST_CASE_METHOD(HttpFixture, "a request is answered, and the connection closed") {
  serve_with({});
  const std::string heard = said_to(
      "POST /a%20b?c=d HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer t\r\nContent-Length: "
      "2\r\n\r\nhi");
  CHECK_THAT(heard, contains("HTTP/1.1 200 OK\r\n"));
  CHECK_THAT(heard, contains("Content-Length: 11\r\n"));
  CHECK_THAT(heard, contains("\r\n\r\nyou said hi"));
  CHECK(last_.method == "POST");
  CHECK(last_.path == "/a b");
  CHECK(last_.parameter("c") == "d");
  CHECK(last_.host == "h");
  CHECK(last_.authorization == "Bearer t");
}

TEST_CASE_METHOD(HttpFixture, "a bad request gets an error, and has no other effect") {
  serve_with({});
  CHECK_THAT(said_to("nonsense\r\n\r\n"), contains("400 Bad Request"));
  CHECK_THAT(said_to("GET % HTTP/1.1\r\n\r\n"), contains("400 Bad Request"));
  CHECK(last_.path.empty());
}

TEST_CASE_METHOD(HttpFixture, "headers and bodies have limits") {
  serve_with({.header_bytes_max = 200, .body_bytes_max = 10});
  CHECK_THAT(said_to("GET / HTTP/1.1\r\nX: " + std::string(300, 'x') + "\r\n\r\n"),
             contains("431"));
  CHECK_THAT(said_to("POST / HTTP/1.1\r\nContent-Length: 11\r\n\r\n"), contains("413"));
  CHECK(last_.path.empty());
}

TEST_CASE_METHOD(HttpFixture, "a silent client is closed with an answer") {
  serve_with({.request_timeout = 20ms});
  CHECK_THAT(said_to("GET / HTTP/1.1\r\n"), contains("408"));
}

TEST_CASE_METHOD(HttpFixture, "more connections than may be are closed at once") {
  serve_with({.connections_max = 1});
  const Local first = connect();
  loop_.poll();
  CHECK(said_to("GET / HTTP/1.1\r\n\r\n").empty());
}

TEST_CASE_METHOD(HttpFixture, "an answer may go on, and its end is the connection's") {
  serve_with({});
  const std::string heard = said_to("GET /count HTTP/1.1\r\n\r\n");
  CHECK_THAT(heard, contains("\r\n\r\n123"));
  CHECK(heard.find("Content-Length") == std::string::npos);
}

TEST_CASE_METHOD(HttpFixture, "a peer that goes away ends what goes on for it") {
  serve_with({});
  {
    Local socket = connect();
    asio::write(socket, asio::buffer(std::string{"GET /forever HTTP/1.1\r\n\r\n"}));
    loop_.run_until([&] { return waits_; }, "the request");
  }
  loop_.run_until([&] { return !waits_; }, "its end");
  CHECK_FALSE(waits_);
}

TEST_CASE_METHOD(HttpFixture, "closing the server ends what goes on") {
  serve_with({});
  Local socket = connect();
  asio::write(socket, asio::buffer(std::string{"GET /forever HTTP/1.1\r\n\r\n"}));
  loop_.run_until([&] { return waits_; }, "the request");
  server_->close();
  loop_.run_until([&] { return !waits_; }, "its end");
  CHECK_FALSE(waits_);
}

TEST_CASE_METHOD(HttpFixture, "our client reads what our server answers") {
  serve_with({});
  const auto heard = loop_.run(
      ask_http(HttpSocket{connect()}, {.method = "POST", .target = "/x"}, 5s), "an answer");
  REQUIRE(heard.has_value());
  CHECK(heard->status == 200);
  CHECK(heard->body == "you said ");
  std::string pieces;
  const auto hear = [&](std::string_view piece) {
    pieces += piece;
    return true;
  };
  const auto followed =
      loop_.run(follow_http(HttpSocket{connect()}, {.target = "/count"}, 5s, hear), "all of it");
  REQUIRE(followed.has_value());
  CHECK(pieces == "123");
}

TEST_CASE_METHOD(HttpFixture, "a server that does not answer costs our client its timeout only") {
  Local ours{loop_.executor()};
  Local silent{loop_.executor()};
  asio::local::connect_pair(ours, silent);
  const auto heard = loop_.run(ask_http(HttpSocket{std::move(ours)}, {}, 20ms), "the timeout");
  REQUIRE(heard.has_error());
  CHECK(heard.error().kind == Error::Kind::kTimeout);
}

}  // namespace
}  // namespace ddprun
