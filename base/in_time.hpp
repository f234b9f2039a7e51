// in_time(): work that is given up at a deadline.
#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <optional>
#include <utility>

#include "base/asio.hpp"
#include "base/clock.hpp"

namespace ddprun {

/// Waits for `work`, and returns what it returns; nullopt: it had not ended at `deadline`, and has
/// been cancelled.
template <typename T>
asio::awaitable<std::optional<T>> in_time(TimePoint deadline, asio::awaitable<T> work) {
  using namespace asio::experimental::awaitable_operators;
  asio::steady_timer timer{co_await asio::this_coro::executor, deadline};
  auto late = timer.async_wait(asio::as_tuple(asio::use_awaitable));
  auto first = co_await (std::move(work) || std::move(late));
  if (first.index() == 1) co_return std::nullopt;
  co_return std::get<0>(std::move(first));
}

}  // namespace ddprun
