#include "base/coroutines.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <utility>

#include "base/gated_log.hpp"

namespace ddprun {

FailureHandler report_failure(std::string what) {
  return [what = std::move(what)](const std::exception_ptr& failure) {
    if (!failure) return;
    try {
      std::rethrow_exception(failure);
    } catch (const std::exception& e) {
      log::write(log::Level::kCritical, "internal error: " + what + " failed: " + e.what());
    }
    std::rethrow_exception(failure);  // leaves io_context::run(), caught in main()
  };
}

FailureHandler give_up_peer(std::string what) {
  return [what = std::move(what)](const std::exception_ptr& failure) {
    if (!failure) return;
    thread_local GatedLog troubles{log::Level::kError};
    try {
      std::rethrow_exception(failure);
    } catch (const std::exception& e) {
      troubles.say("{} is served no more: {}", what, e.what());
    }
  };
}

void start_coroutine(const asio::any_io_executor& executor, asio::awaitable<void> work,
                     FailureHandler at_end) {
  co_spawn(executor, std::move(work), std::move(at_end));
}

void start_coroutine(asio::io_context& io, asio::awaitable<void> work, FailureHandler at_end) {
  start_coroutine(io.get_executor(), std::move(work), std::move(at_end));
}

asio::awaitable<bool> ends_first(asio::awaitable<void> work, asio::awaitable<void> other) {
  using asio::experimental::make_parallel_group;
  using asio::experimental::wait_for_one;
  const auto executor = co_await asio::this_coro::executor;
  auto both = make_parallel_group(co_spawn(executor, std::move(work), asio::deferred),
                                  co_spawn(executor, std::move(other), asio::deferred));
  const auto [order, work_failed, other_failed] =
      co_await both.async_wait(wait_for_one(), asio::use_awaitable);
  const bool work_was_first = order[0] == 0;
  if (const auto& failed = work_was_first ? work_failed : other_failed; failed)
    std::rethrow_exception(failed);
  co_return work_was_first;
}

asio::awaitable<void> until(TimePoint time) {
  asio::steady_timer timer{co_await asio::this_coro::executor, time};
  co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
}

}  // namespace ddprun
