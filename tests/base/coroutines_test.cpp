#include "base/coroutines.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <new>
#include <stdexcept>

#include "tests/support/captured_log.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/event_loop.hpp"

namespace ddprun {
namespace {

TEST_CASE("an exception that leaves a coroutine leaves the event loop's run()") {
  const auto handler = report_failure("a test");
  CHECK_NOTHROW(handler(nullptr));
  const auto bug = std::make_exception_ptr(std::logic_error{"a bug"});
  CHECK_THROWS_WITH(handler(bug), "a bug");
}

TEST_CASE("an exception of one peer's coroutine is logged, once a second, and goes no further") {
  const CapturedLog log;
  const auto handler = give_up_peer("a peer");
  CHECK_NOTHROW(handler(nullptr));
  CHECK(log.text().empty());
  for (int i = 0; i < 10; ++i) CHECK_NOTHROW(handler(std::make_exception_ptr(std::bad_alloc{})));
  CHECK(log.text() == "error: a peer is served no more: std::bad_alloc\n");
}

using namespace std::chrono_literals;

asio::awaitable<int> answer() { co_return 42; }

asio::awaitable<void> nothing() { co_return; }

asio::awaitable<int> bug() {
  throw std::logic_error{"a bug"};
  co_return 0;
}

/// Waits until it is cancelled.
asio::awaitable<int> wait_for_ever(bool& cancelled) {
  asio::steady_timer timer{co_await asio::this_coro::executor, asio::steady_timer::duration::max()};
  const auto [error] = co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
  cancelled = error == asio::error::operation_aborted;
  co_return 1;
}

TEST_CASE("work that ends before its deadline has its result") {
  EventLoop loop;
  CHECK(loop.run(in_time(Clock::now() + 1h, answer()), "an answer") == 42);
}

TEST_CASE("work that does not end before its deadline is cancelled, and has no result") {
  EventLoop loop;
  bool cancelled = false;
  const auto result = loop.run(in_time(Clock::now() + 1ms, wait_for_ever(cancelled)), "the end");
  CHECK(result == std::nullopt);
  CHECK(cancelled);
}

TEST_CASE("an exception of the work reaches the caller at once, and not at the deadline") {
  EventLoop loop;
  CHECK_THROWS_WITH(loop.run(in_time(Clock::now() + 1h, bug()), "an exception"), "a bug");
}

TEST_CASE("work is cancelled when what it must be before has ended") {
  EventLoop loop;
  bool cancelled = false;
  CHECK(loop.run(before(nothing(), wait_for_ever(cancelled)), "the end") == std::nullopt);
  CHECK(cancelled);
}

TEST_CASE("of two coroutines the first one to end is reported, whichever it is") {
  EventLoop loop;
  CHECK(loop.run(ends_first(nothing(), until(Clock::now() + 1h)), "the first"));
  CHECK_FALSE(loop.run(ends_first(until(Clock::now() + 1h), nothing()), "the second"));
}

}  // namespace
}  // namespace ddprun
