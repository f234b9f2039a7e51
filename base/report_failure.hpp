// report_failure(what): the completion handler of every co_spawn, so that no exception is
// swallowed.
#pragma once

#include <spdlog/spdlog.h>

#include <exception>
#include <string>
#include <utility>

namespace ddprun {

/// Logs an exception that left a coroutine and ends the program: it is a bug, and going on with one
/// coroutine missing would hang the job.
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
