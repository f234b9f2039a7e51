#include "agent/introspection/nccl_ras.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <utility>

#include "base/coroutines.hpp"
#include "base/text.hpp"

namespace ddprun {

namespace {

using asio::ip::tcp;

constexpr auto kQuietly = asio::as_tuple(asio::use_awaitable);
constexpr std::size_t kRasLineMax = 256;

Error no_ras(const std::string& what) {
  return {Error::Kind::kUnavailable, "NCCL's RAS service " + what};
}

/// Says one line, and hears one that begins with `expected`.
asio::awaitable<Result<void>> say(tcp::socket& socket, std::string line, std::string expected) {
  const auto [unsent, sent] = co_await asio::async_write(socket, asio::buffer(line), kQuietly);
  if (unsent) co_return no_ras("hangs up: " + unsent.message());
  std::string heard;
  auto inbox = asio::dynamic_buffer(heard, kRasLineMax);
  const auto [unread, size] = co_await asio::async_read_until(socket, inbox, '\n', kQuietly);
  if (unread) co_return no_ras("does not answer: " + unread.message());
  if (!heard.starts_with(expected)) co_return no_ras("answers " + printable(heard));
  co_return Result<void>{};
}

asio::awaitable<Result<std::string>> hold_talk(tcp::socket& socket,
                                               std::vector<RasAddress> addresses) {
  boost::system::error_code refused = asio::error::not_found;
  for (const RasAddress& address : addresses) {
    boost::system::error_code ignored;
    socket.close(ignored);
    const tcp::endpoint endpoint{asio::ip::make_address(address.host), address.port};
    const auto [error] = co_await socket.async_connect(endpoint, kQuietly);
    refused = error;
    if (!refused) break;
  }
  if (refused) co_return no_ras("cannot be reached: " + refused.message());
  const auto greeted = co_await say(socket, "CLIENT PROTOCOL 2\n", "SERVER PROTOCOL ");
  if (!greeted) co_return greeted.error();
  const auto agreed = co_await say(socket, "TIMEOUT 2\n", "OK");
  if (!agreed) co_return agreed.error();
  const std::string question = "VERBOSE STATUS\n";
  const auto [unsent, sent] = co_await asio::async_write(socket, asio::buffer(question), kQuietly);
  if (unsent) co_return no_ras("hangs up: " + unsent.message());
  std::string text;
  auto inbox = asio::dynamic_buffer(text, kRasBytesMax);
  co_await asio::async_read(socket, inbox, kQuietly);  // until it ends the connection
  co_return text;
}

}  // namespace

asio::awaitable<Result<std::string>> ask_ras(std::vector<RasAddress> addresses,
                                             std::chrono::milliseconds patience) {
  const auto executor = co_await asio::this_coro::executor;
  tcp::socket socket{executor};
  auto talk = hold_talk(socket, std::move(addresses));
  auto answer = co_await in_time(Clock::now() + patience, std::move(talk));
  if (!answer) co_return Error{Error::Kind::kTimeout, "NCCL's RAS service does not answer in time"};
  co_return std::move(*answer);
}

}  // namespace ddprun
