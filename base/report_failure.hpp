// report_failure(): the completion handler for co_spawn that lets no exception be swallowed.
#pragma once

#include <spdlog/spdlog.h>

#include <exception>
#include <string>
#include <utility>

namespace ddprun {

/// Returns a handler that logs an exception which left the coroutine `what` and throws it on, so
/// that the program ends. Such an exception is a bug, and without the coroutine the job would hang.
inline auto report_failure(std::string what) {
  return [what = std::move(what)](const std::exception_ptr& failure) {
    if (!failure) return;
    try {
      std::rethrow_exception(failure);
    } catch (const std::exception& e) {
      spdlog::critical("internal error: {} failed: {}", what, e.what());
    }
    std::rethrow_exception(failure);  // leaves io_context::run(), caught in main()
  };
}

}  // namespace ddprun
