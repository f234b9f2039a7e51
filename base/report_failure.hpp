// report_failure() and give_up_peer(): completion handlers for co_spawn that let no exception be
// swallowed.
#pragma once

#include <spdlog/spdlog.h>

#include <exception>
#include <string>
#include <utility>

#include "base/gated_log.hpp"

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

/// Returns a handler for a coroutine that serves one peer, and without which all others are served
/// as before. It logs an exception, as that there is no memory left, and that is all.
inline auto give_up_peer(std::string what) {
  return [what = std::move(what)](const std::exception_ptr& failure) {
    if (!failure) return;
    thread_local GatedLog log{spdlog::level::err};
    try {
      std::rethrow_exception(failure);
    } catch (const std::exception& e) {
      log.say("{} is served no more: {}", what, e.what());
    }
  };
}

}  // namespace ddprun
