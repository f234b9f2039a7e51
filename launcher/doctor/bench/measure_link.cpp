#include "launcher/doctor/bench/measure_link.hpp"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/coroutines.hpp"
#include "base/numbers.hpp"
#include "launcher/doctor/bench/link_ends.hpp"
#include "launcher/doctor/bench/measurements.hpp"

namespace ddprun {

namespace {

using namespace std::chrono_literals;
using asio::as_tuple;
using asio::use_awaitable;
using asio::ip::tcp;

constexpr auto kConnectTimeout = 3s;
constexpr auto kPingTime = 100ms;
constexpr std::size_t kPingsMin = 2;
constexpr std::size_t kPingsMax = 200;

/// With a longer way, a quarter of a second is over before a connection is up to speed.
constexpr double kRttMaxUs = 25'000;
constexpr double kBytesPerMbit = 1e6 / 8;

class LinkMeasure {
 public:
  LinkMeasure(const LinkEnd& to, const std::string& token, LinkSpeed& speed)
      : to_{to}, token_{token}, speed_{speed} {}

  asio::awaitable<bool> run() {
    bool goes_on = co_await ping();
    if (speed_.rtt_us.value_or(0) > kRttMaxUs) goes_on = false;
    if (goes_on) goes_on = co_await measure_there();
    if (goes_on) co_await measure_back();
    co_return true;
  }

 private:
  /// Connects and says what for. nullopt: the error is written down.
  asio::awaitable<std::optional<tcp::socket>> connect(char what_for) {
    tcp::socket socket{co_await asio::this_coro::executor};
    boost::system::error_code error;
    const tcp::endpoint endpoint{asio::ip::make_address(to_.host, error), to_.port};
    if (error) co_return give_up("it has told no address");
    const auto connected = co_await in_time(
        Clock::now() + kConnectTimeout, socket.async_connect(endpoint, as_tuple(use_awaitable)));
    if (!connected) co_return give_up("no connection within 3 s");
    if (std::get<0>(*connected)) co_return give_up(std::get<0>(*connected).message());
    socket.set_option(tcp::no_delay{true}, error);
    const std::string begin = token_ + what_for;
    const auto [write_error, sent] =
        co_await asio::async_write(socket, asio::buffer(begin), as_tuple(use_awaitable));
    if (write_error) co_return give_up(write_error.message());
    co_return std::optional<tcp::socket>{std::move(socket)};
  }

  std::optional<tcp::socket> give_up(std::string why) {
    speed_.error = std::move(why);
    return std::nullopt;
  }

  asio::awaitable<bool> ping() {
    auto socket = co_await connect(kPing);
    if (!socket) co_return false;
    std::vector<double> times_us;
    const TimePoint begin = Clock::now();
    while (times_us.size() < kPingsMin ||
           (times_us.size() < kPingsMax && Clock::now() - begin < kPingTime)) {
      const TimePoint sent = Clock::now();
      const bool answered = co_await ping_once(*socket);
      if (!answered) co_return false;
      times_us.push_back(std::chrono::duration<double, std::micro>(Clock::now() - sent).count());
    }
    speed_.rtt_us = median(std::move(times_us));
    co_return true;
  }

  asio::awaitable<bool> ping_once(tcp::socket& socket) {
    char byte = '.';
    auto [error, sent] =
        co_await asio::async_write(socket, asio::buffer(&byte, 1), as_tuple(use_awaitable));
    if (!error)
      std::tie(error, sent) =
          co_await asio::async_read(socket, asio::buffer(&byte, 1), as_tuple(use_awaitable));
    if (error) give_up(error.message());
    co_return !error;
  }

  asio::awaitable<bool> measure_there() {
    auto socket = co_await connect(kReceive);
    if (!socket) co_return false;
    co_await send_all_it_takes(*socket);
    std::string told(kRateBytes, '\0');
    const auto [error, bytes] =
        co_await asio::async_read(*socket, asio::buffer(told), as_tuple(use_awaitable));
    drop(*socket);
    const auto rate =
        parse_number<std::int64_t>(told.substr(std::min(told.find_first_not_of(' '), bytes)));
    if (error || !rate) co_return give_up("the other node has told no rate").has_value();
    speed_.there_mbit_per_s = static_cast<double>(*rate) / kBytesPerMbit;
    co_return true;
  }

  asio::awaitable<bool> measure_back() {
    auto socket = co_await connect(kSend);
    if (!socket) co_return false;
    const auto rate = co_await receive_rate(*socket);
    drop(*socket);
    if (!rate) co_return give_up("the other node sends nothing").has_value();
    speed_.back_mbit_per_s = static_cast<double>(*rate) / kBytesPerMbit;
    co_return true;
  }

  const LinkEnd& to_;
  const std::string& token_;
  LinkSpeed& speed_;
};

asio::awaitable<void> measure(LinkMeasure& link, LinkSpeed& speed) {
  const auto done =
      co_await in_time(Clock::now() + std::chrono::seconds{kLinkTimeoutS}, link.run());
  if (!done) speed.error = "it was not measured within 10 s";
}

}  // namespace

LinkSpeed measure_link(const std::string& from, const LinkEnd& to, const std::string& token) {
  LinkSpeed speed{.from = from, .to = to.node};
  LinkMeasure link{to, token, speed};
  asio::io_context io{1};
  start_coroutine(io, measure(link, speed), report_failure("measuring the way to another node"));
  io.run();
  return speed;
}

}  // namespace ddprun
