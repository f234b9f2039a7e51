#include "launcher/doctor/ask/links.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "base/asio.hpp"
#include "base/clock.hpp"
#include "base/coroutines.hpp"
#include "base/numbers.hpp"
#include "base/process/file_limit.hpp"
#include "base/text.hpp"

namespace ddprun {

namespace {

using namespace std::chrono_literals;
using asio::as_tuple;
using asio::use_awaitable;
using asio::ip::tcp;

constexpr auto kEchoTimeout = 2min;         // its node ends it before
constexpr auto kLinkServerTimeout = 30min;  // and this one, too
constexpr auto kConnectionTimeout = 20s;
constexpr auto kConnectTimeout = 3s;
constexpr auto kPingTime = 100ms;
constexpr std::size_t kPingsMin = 2;
constexpr std::size_t kPingsMax = 200;
constexpr auto kSilenceMax = 2s;
constexpr auto kSendTimeMax = 2s;
constexpr auto kReceiveTime = 250ms;
constexpr auto kStartTime = 60ms;  // its first part, in which nothing counts
constexpr std::size_t kChunkBytes = 256 * 1024;

/// With a longer way, a quarter of a second is over before a connection is up to speed.
constexpr double kRttMaxUs = 25'000;
constexpr double kBytesPerMbit = 1e6 / 8;

constexpr char kPing = 'p';     // the listener sends back each byte
constexpr char kReceive = 'r';  // the listener receives, and then tells the bytes per second
constexpr char kSend = 's';     // the listener sends

/// What the listener sends after it has received: a number in this many characters.
constexpr std::size_t kRateBytes = 20;

// --- both sides ---

/// Returns that many bytes; nullopt: the other end has gone.
asio::awaitable<std::optional<std::string>> next_bytes(tcp::socket& socket, std::size_t count) {
  std::string bytes(count, '\0');
  const auto [error, got] =
      co_await asio::async_read(socket, asio::buffer(bytes), as_tuple(use_awaitable));
  co_return error ? std::nullopt : std::optional{std::move(bytes)};
}

/// Counts what comes after the start.
asio::awaitable<bool> receive_into(tcp::socket& socket, std::int64_t& counted) {
  std::vector<char> chunk(kChunkBytes);
  const TimePoint begin = Clock::now();
  for (;;) {
    const auto [error, bytes] =
        co_await socket.async_read_some(asio::buffer(chunk), as_tuple(use_awaitable));
    const auto time = Clock::now() - begin;
    if (error) co_return false;
    if (time >= kReceiveTime) co_return true;
    if (time > kStartTime) counted += static_cast<std::int64_t>(bytes);
  }
}

/// Receives for a quarter of a second from the first byte on, and returns the bytes per second
/// after the first part, in which a connection gets up to speed. nullopt: the other end has gone,
/// or is silent.
asio::awaitable<std::optional<std::int64_t>> receive_rate(tcp::socket& socket) {
  const auto begun = co_await in_time(Clock::now() + kSilenceMax, next_bytes(socket, 1));
  if (!begun || !*begun) co_return std::nullopt;
  std::int64_t bytes = 0;
  const auto whole = co_await in_time(Clock::now() + kReceiveTime, receive_into(socket, bytes));
  if (!whole.value_or(true)) co_return std::nullopt;
  const std::chrono::duration<double> counted = kReceiveTime - kStartTime;
  co_return static_cast<std::int64_t>(static_cast<double>(bytes) / counted.count());
}

asio::awaitable<bool> send_chunks(tcp::socket& socket) {
  const std::vector<char> chunk(kChunkBytes, 'b');
  for (;;) {
    const auto [error, bytes] =
        co_await asio::async_write(socket, asio::buffer(chunk), as_tuple(use_awaitable));
    if (error) co_return false;
  }
}

asio::awaitable<void> says_something(tcp::socket& socket) {
  co_await socket.async_wait(tcp::socket::wait_read, as_tuple(use_awaitable));
}

/// Sends until the other end has gone or says something, and for 2 s at most.
asio::awaitable<void> send_all_it_takes(tcp::socket& socket) {
  auto sending = before(says_something(socket), send_chunks(socket));
  co_await in_time(Clock::now() + kSendTimeMax, std::move(sending));
}

/// Closes the connection. What was not sent yet is thrown away, or it would disturb others.
void drop(tcp::socket& socket) {
  boost::system::error_code ignored;
  socket.set_option(asio::socket_base::linger{true, 0}, ignored);
  socket.close(ignored);
}

// --- the side that listens ---

asio::awaitable<void> send_back(tcp::socket& socket) {
  std::array<char, 16 * 1024> chunk{};
  for (;;) {
    const auto [read_error, got] =
        co_await socket.async_read_some(asio::buffer(chunk), as_tuple(use_awaitable));
    if (read_error) co_return;
    const auto [write_error, sent] =
        co_await asio::async_write(socket, asio::buffer(chunk, got), as_tuple(use_awaitable));
    if (write_error) co_return;
  }
}

asio::awaitable<void> echo_to(tcp::socket socket, const std::string& token) {
  const auto shown = co_await next_bytes(socket, token.size());
  if (shown == token) co_await send_back(socket);
}

/// After its answer, the sender has to close first: it would not read the answer otherwise.
asio::awaitable<void> receive_and_tell(tcp::socket& socket) {
  const auto rate = co_await receive_rate(socket);
  if (!rate) co_return;
  const std::string text = fmt::format("{:>{}}", *rate, kRateBytes);
  co_await asio::async_write(socket, asio::buffer(text), as_tuple(use_awaitable));
  co_await socket.async_wait(tcp::socket::wait_error, as_tuple(use_awaitable));
}

asio::awaitable<bool> answer_link(tcp::socket& socket, const std::string& token) {
  const auto shown = co_await next_bytes(socket, token.size() + 1);
  if (!shown || !shown->starts_with(token)) co_return false;
  socket.set_option(tcp::no_delay{true});
  if (shown->back() == kPing) co_await send_back(socket);
  if (shown->back() == kReceive) co_await receive_and_tell(socket);
  if (shown->back() == kSend) co_await send_all_it_takes(socket);
  co_return true;
}

asio::awaitable<void> serve_link(tcp::socket socket, std::string token) {
  co_await in_time(Clock::now() + kConnectionTimeout, answer_link(socket, token));
  drop(socket);
}

// --- the side that connects ---

class LinkMeasure {
 public:
  LinkMeasure(const Peer& to, const std::string& token, LinkSpeed& speed)
      : to_{to}, token_{token}, speed_{speed} {}

  asio::awaitable<void> run() {
    const TimePoint deadline = Clock::now() + std::chrono::seconds{kLinkTimeoutS};
    const auto done = co_await in_time(deadline, measure());
    if (!done) speed_.error = "it was not measured within 10 s";
  }

 private:
  asio::awaitable<bool> measure() {
    bool goes_on = co_await ping();
    if (speed_.rtt_us.value_or(0) > kRttMaxUs) goes_on = false;
    if (goes_on) goes_on = co_await measure_there();
    if (goes_on) co_await measure_back();
    co_return true;
  }

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
    const auto told = co_await next_bytes(*socket, kRateBytes);
    drop(*socket);
    const auto rate = parse_number<std::int64_t>(trimmed(told ? std::string_view{*told} : "", " "));
    if (!rate) co_return give_up("the other node has sent no rate").has_value();
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

  const Peer& to_;
  const std::string& token_;
  LinkSpeed& speed_;
};

}  // namespace

Result<ChildServer> start_echo(const std::string& token) {
  const auto echo_one = [&](const asio::any_io_executor& executor, tcp::socket socket) {
    start_coroutine(executor, echo_to(std::move(socket), token),
                    report_failure("answering another node"));
  };
  return start_child_server(kEchoTimeout, echo_one, [] {
    static_cast<void>(raise_file_limit("ddprun doctor", 0));  // all nodes come at the same time
  });
}

Result<ChildServer> start_link_server(const std::string& token) {
  return start_child_server(kLinkServerTimeout,
                            [&](const asio::any_io_executor& executor, tcp::socket socket) {
                              start_coroutine(executor, serve_link(std::move(socket), token),
                                              give_up_peer("measuring a link"));
                            });
}

LinkSpeed measure_link(const std::string& from, const Peer& to, const std::string& token) {
  LinkSpeed speed{.from = from, .to = to.node};
  LinkMeasure link{to, token, speed};
  asio::io_context io{1};
  start_coroutine(io, link.run(), report_failure("measuring the way to another node"));
  io.run();
  return speed;
}

}  // namespace ddprun
