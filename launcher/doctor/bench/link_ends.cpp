#include "launcher/doctor/bench/link_ends.hpp"

#include <fmt/format.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/coroutines.hpp"

namespace ddprun {

namespace {

using namespace std::chrono_literals;
using asio::as_tuple;
using asio::use_awaitable;
using asio::ip::tcp;

constexpr auto kServerTimeout = 30min;  // its node ends it before
constexpr auto kConnectionTimeout = 20s;
constexpr auto kSilenceMax = 2s;
constexpr auto kSendTimeMax = 2s;
constexpr auto kReceiveTime = 250ms;
constexpr auto kStartTime = 60ms;  // its first part, in which nothing counts
constexpr std::size_t kChunkBytes = 256 * 1024;

struct Received {
  std::int64_t bytes = 0;  // all that came after the start
  TimePoint counted_from;
  TimePoint last;
};

asio::awaitable<bool> receive_into(tcp::socket& socket, Received& received) {
  std::vector<char> chunk(kChunkBytes);
  const TimePoint begin = Clock::now();
  received.counted_from = received.last = begin + kStartTime;
  for (;;) {
    const auto [error, bytes] =
        co_await socket.async_read_some(asio::buffer(chunk), as_tuple(use_awaitable));
    const TimePoint now = Clock::now();
    if (error) co_return false;
    if (now - begin >= kReceiveTime) co_return true;
    if (now > received.counted_from) received.bytes += static_cast<std::int64_t>(bytes);
  }
}

asio::awaitable<bool> first_byte(tcp::socket& socket) {
  char byte = 0;
  const auto [error, bytes] =
      co_await asio::async_read(socket, asio::buffer(&byte, 1), as_tuple(use_awaitable));
  co_return !error;
}

asio::awaitable<bool> send_chunks(tcp::socket& socket) {
  const std::vector<char> chunk(kChunkBytes, 'b');
  for (;;) {
    const auto [error, bytes] =
        co_await asio::async_write(socket, asio::buffer(chunk), as_tuple(use_awaitable));
    if (error) co_return false;
  }
}

// --- the side that listens ---

asio::awaitable<void> send_back(tcp::socket& socket) {
  socket.set_option(tcp::no_delay{true});
  for (char byte = 0;;) {
    const auto [error, got] =
        co_await asio::async_read(socket, asio::buffer(&byte, 1), as_tuple(use_awaitable));
    if (error) co_return;
    const auto [write_error, sent] =
        co_await asio::async_write(socket, asio::buffer(&byte, 1), as_tuple(use_awaitable));
    if (write_error) co_return;
  }
}

/// After its answer, the sender has to close first: it would not read the answer otherwise.
asio::awaitable<void> receive_and_tell(tcp::socket& socket) {
  const auto rate = co_await receive_rate(socket);
  if (!rate) co_return;
  const std::string text = fmt::format("{:>{}}", *rate, kRateBytes);
  co_await asio::async_write(socket, asio::buffer(text), as_tuple(use_awaitable));
  co_await socket.async_wait(tcp::socket::wait_error, as_tuple(use_awaitable));
}

asio::awaitable<bool> answer(tcp::socket& socket, const std::string& token) {
  std::string shown(token.size() + 1, '\0');
  const auto [error, bytes] =
      co_await asio::async_read(socket, asio::buffer(shown), as_tuple(use_awaitable));
  if (error || !shown.starts_with(token)) co_return false;
  if (shown.back() == kPing) co_await send_back(socket);
  if (shown.back() == kReceive) co_await receive_and_tell(socket);
  if (shown.back() == kSend) co_await send_all_it_takes(socket);
  co_return true;
}

asio::awaitable<void> serve(tcp::socket socket, std::string token) {
  co_await in_time(Clock::now() + kConnectionTimeout, answer(socket, token));
  drop(socket);
}

}  // namespace

void drop(tcp::socket& socket) {
  boost::system::error_code ignored;
  socket.set_option(asio::socket_base::linger{true, 0}, ignored);
  socket.close(ignored);
}

asio::awaitable<std::optional<std::int64_t>> receive_rate(tcp::socket& socket) {
  const auto begun = co_await in_time(Clock::now() + kSilenceMax, first_byte(socket));
  if (!begun.value_or(false)) co_return std::nullopt;
  Received received;
  const auto whole = co_await in_time(Clock::now() + kReceiveTime, receive_into(socket, received));
  if (!whole.value_or(true)) co_return std::nullopt;
  const std::chrono::duration<double> counted = kReceiveTime - kStartTime;
  co_return static_cast<std::int64_t>(static_cast<double>(received.bytes) / counted.count());
}

asio::awaitable<void> says_something(tcp::socket& socket) {
  co_await socket.async_wait(tcp::socket::wait_read, as_tuple(use_awaitable));
}

asio::awaitable<void> send_all_it_takes(tcp::socket& socket) {
  auto sending = before(says_something(socket), send_chunks(socket));
  co_await in_time(Clock::now() + kSendTimeMax, std::move(sending));
}

Result<ChildServer> start_link_server(const std::string& token) {
  return start_child_server(kServerTimeout, [&](const asio::any_io_executor& executor,
                                                tcp::socket socket) {
    start_coroutine(executor, serve(std::move(socket), token), give_up_peer("measuring a link"));
  });
}

}  // namespace ddprun
