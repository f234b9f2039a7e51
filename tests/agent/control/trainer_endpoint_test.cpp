#include "agent/control/trainer_endpoint.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include "base/numbers.hpp"
#include "tests/support/event_loop.hpp"

namespace ddprun {
namespace {

using asio::ip::tcp;

class TrainerEndpointFixture {
 protected:
  TrainerEndpointFixture() { REQUIRE(endpoint_.open("secret").has_value()); }

  asio::awaitable<std::string> exchange(std::string bytes) {
    constexpr auto kQuietly = asio::as_tuple(asio::use_awaitable);
    const std::string url = endpoint_.url();
    const auto port = parse_number<std::uint16_t>(url.substr(url.rfind(':') + 1));
    tcp::socket socket{loop_.executor()};
    co_await socket.async_connect({asio::ip::address_v4::loopback(), port.value()},
                                  asio::use_awaitable);
    co_await asio::async_write(socket, asio::buffer(bytes), kQuietly);
    std::string heard;
    co_await asio::async_read(socket, asio::dynamic_buffer(heard), kQuietly);
    co_return heard;
  }
  std::string posted(const std::string& path, const std::string& token, const std::string& body) {
    return loop_.run(
        exchange("POST " + path + " HTTP/1.1\r\nAuthorization: Bearer " + token +
                 "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body),
        "an answer");
  }

  EventLoop loop_;
  TrainerEndpoint endpoint_{loop_.executor(), 2};
};

constexpr char kBody[] =
    R"({"trainerStatus": {"metrics": [{"name": "current_step", "value": "7"}]}})";

TEST_CASE_METHOD(TrainerEndpointFixture,
                 "what a worker posts is known of it, until another round begins") {
  CHECK(endpoint_.told(1) == nullptr);
  CHECK_THAT(posted("/1", "secret", kBody), contains("HTTP/1.1 200"));
  REQUIRE(endpoint_.told(1) != nullptr);
  CHECK(endpoint_.told(1)->step == 7);
  CHECK(endpoint_.told(0) == nullptr);
  endpoint_.forget();
  CHECK(endpoint_.told(1) == nullptr);
}

TEST_CASE_METHOD(TrainerEndpointFixture,
                 "who does not know the token, or the worker, changes nothing") {
  CHECK_THAT(posted("/1", "guess", kBody), contains("401"));
  CHECK_THAT(posted("/2", "secret", kBody), contains("404"));
  CHECK_THAT(posted("/x", "secret", kBody), contains("404"));
  CHECK_THAT(posted("/1", "secret", "{}"), contains("400"));
  CHECK(endpoint_.told(1) == nullptr);
}

}  // namespace
}  // namespace ddprun
