// EventLoop: an io_context that a test runs until what it waits for has happened. When that does
// not happen in time, the test fails with what it waited for.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>

#include "base/asio.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {

/// Long enough for the busiest machine: nothing in a test takes that long unless it is broken.
inline constexpr std::chrono::seconds kTestPatience{60};

class EventLoop {
 public:
  asio::any_io_executor executor() { return context_.get_executor(); }

  /// Handles events until `done`.
  void run_until(const std::function<bool()>& done, const std::string& what) {
    const auto deadline = std::chrono::steady_clock::now() + kTestPatience;
    while (!done()) {
      context_.restart();
      if (context_.run_one_until(deadline) > 0) continue;
      if (std::chrono::steady_clock::now() >= deadline) FAIL("waited in vain for " << what);
      FAIL("nothing is pending that could lead to " << what);
    }
  }

  /// What `work` returns.
  template <typename T>
  T run(asio::awaitable<T> work, const std::string& what) {
    using Value = std::conditional_t<std::is_void_v<T>, bool, T>;
    std::optional<Value> value;
    std::exception_ptr failure;
    const auto failed = [&failure](const std::exception_ptr& thrown) { failure = thrown; };
    bool ended = false;
    const auto keep = [&](asio::awaitable<T> inner) -> asio::awaitable<void> {
      if constexpr (std::is_void_v<T>) {
        co_await std::move(inner);
        value.emplace(true);
      } else {
        value.emplace(co_await std::move(inner));
      }
    };
    asio::co_spawn(context_, keep(std::move(work)), [&](const std::exception_ptr& thrown) {
      failed(thrown);
      ended = true;
    });
    run_until([&] { return ended; }, what);
    if (failure) std::rethrow_exception(failure);
    if constexpr (!std::is_void_v<T>) return std::move(*value);
  }

  /// Handles what has happened by now.
  void poll() {
    context_.restart();
    context_.poll();
  }

 private:
  asio::io_context context_;
};

}  // namespace ddprun
