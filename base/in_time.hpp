// Coroutines that race with one another: what ends first decides, and the other one is cancelled.
//
// Asio's operator|| does the same, as a template that is compiled for each pair of results. Here
// what races returns nothing, so one instance serves all.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <optional>
#include <utility>

#include "base/asio.hpp"
#include "base/clock.hpp"

namespace ddprun {

/// Waits until either has ended, cancels the other one, and waits for its end as well. Returns
/// whether `work` was the first. An exception of the first one goes on to the caller.
asio::awaitable<bool> ends_first(asio::awaitable<void> work, asio::awaitable<void> other);

/// Returns at that time.
asio::awaitable<void> until(TimePoint time);

namespace detail {

template <typename T>
asio::awaitable<void> keep_result(asio::awaitable<T> work, std::optional<T>& result) {
  T value = co_await std::move(work);
  result = std::move(value);
}

}  // namespace detail

/// Waits for `work`, and returns what it returns; nullopt: `other` has ended before, and the work
/// has been cancelled.
template <typename T>
asio::awaitable<std::optional<T>> before(asio::awaitable<void> other, asio::awaitable<T> work) {
  std::optional<T> result;
  auto kept = detail::keep_result(std::move(work), result);
  if (!co_await ends_first(std::move(kept), std::move(other))) result.reset();
  co_return result;
}

/// Waits for `work` until `deadline`, and returns what it returns; nullopt: it has been cancelled.
template <typename T>
asio::awaitable<std::optional<T>> in_time(TimePoint deadline, asio::awaitable<T> work) {
  return before(until(deadline), std::move(work));
}

}  // namespace ddprun
