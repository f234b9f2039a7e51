// Waits in an event loop for what may never be answered, such as a folder whose disk or server is
// gone. The event loop goes on meanwhile.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "base/asio.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"
#include "base/system/left_behind.hpp"

namespace ddprun {

/// Resolves when the queue has done `work`, or at `deadline`; then it may be done later, so all
/// that it touches has to belong to it. Returns whether it was done. Errors: those of
/// LeftBehindQueue::add().
asio::awaitable<Result<bool>> done_by(LeftBehindQueue& queue, TimePoint deadline,
                                      std::function<void()> work);

/// What `work` returns; nullopt: there is no answer by then, or too many wait for one.
template <typename T>
asio::awaitable<std::optional<T>> late_answer(LeftBehindQueue& queue, TimePoint deadline,
                                              std::function<T()> work) {
  const auto answer = std::make_shared<std::optional<T>>();
  std::function<void()> keep = [answer, work = std::move(work)] { *answer = work(); };
  const Result<bool> done = co_await done_by(queue, deadline, std::move(keep));
  if (!done || !*done) co_return std::nullopt;
  co_return std::move(*answer);
}

}  // namespace ddprun
