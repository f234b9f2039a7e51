// Coroutines: started without a caller that waits, and raced with one another.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "base/asio.hpp"
#include "base/clock.hpp"

namespace ddprun {

// Starts coroutines whose end the caller does not await. None of their exceptions is swallowed.
//
// co_spawn() is a template that takes seconds to compile; here it is compiled once.

using FailureHandler = std::function<void(const std::exception_ptr&)>;

/// Returns a handler that logs an exception which left the coroutine `what` and throws it on, so
/// that the program ends. Such an exception is a bug, and without the coroutine the job would hang.
FailureHandler report_failure(std::string what);

/// Returns a handler for a coroutine that serves one peer, and without which all others are served
/// as before. It logs an exception, as that there is no memory left, and that is all.
FailureHandler give_up_peer(std::string what);

/// Runs `work` concurrently with the caller, which continues at once. Calls `at_end` when it has
/// ended, with the exception that left it, if any.
void start_coroutine(const asio::any_io_executor& executor, asio::awaitable<void> work,
                     FailureHandler at_end);
void start_coroutine(asio::io_context& io, asio::awaitable<void> work, FailureHandler at_end);

/// Hands what `work` returns to `take`.
template <typename T, typename Take>
asio::awaitable<void> then(asio::awaitable<T> work, Take take) {
  T value = co_await std::move(work);
  take(std::move(value));
}

// Coroutines that race with one another: what ends first decides, and the other one is cancelled.
//
// Asio's operator|| does the same, as a template that is compiled for each pair of results. Here
// what races returns nothing, so one instance serves all.

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
