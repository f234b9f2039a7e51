#include "base/start_coroutine.hpp"

#include <boost/asio/co_spawn.hpp>
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

}  // namespace ddprun
