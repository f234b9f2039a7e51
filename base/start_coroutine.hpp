// Starts coroutines that nobody waits for, and lets no exception of theirs be swallowed.
//
// co_spawn() is a template that takes seconds to compile; here it is compiled once.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <exception>
#include <functional>
#include <string>
#include <utility>

#include "base/asio.hpp"

namespace ddprun {

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

}  // namespace ddprun
