#include "base/system/late_answer.hpp"

#include <atomic>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>

#include "base/coroutines.hpp"

namespace ddprun {

namespace {

/// Waits for tasks to be done until one has been `done`.
asio::awaitable<void> until_done(asio::posix::stream_descriptor& news,
                                 std::shared_ptr<const std::atomic<bool>> done) {
  constexpr auto kWithoutThrow = asio::as_tuple(asio::use_awaitable);
  while (!*done) {
    const auto [cancelled] =
        co_await news.async_wait(asio::posix::descriptor_base::wait_read, kWithoutThrow);
    if (cancelled) co_return;
    LeftBehindQueue::heard(news.native_handle());
  }
}

/// Where the system refuses eventfd(2), nothing tells.
asio::awaitable<void> until_seen(std::shared_ptr<const std::atomic<bool>> done) {
  constexpr std::chrono::milliseconds kLookEvery{20};
  while (!*done) co_await until(Clock::now() + kLookEvery);
}

}  // namespace

asio::awaitable<Result<bool>> done_by(LeftBehindQueue& queue, TimePoint deadline,
                                      std::function<void()> work) {
  const auto executor = co_await asio::this_coro::executor;
  asio::posix::stream_descriptor waits{executor};
  auto news = queue.news();
  if (news) waits.assign(news->release());
  const auto done = std::make_shared<std::atomic<bool>>(false);
  const auto added = queue.add([done, work = std::move(work)] {
    work();
    *done = true;
  });
  if (!added) co_return added.error();
  auto answered = news ? until_done(waits, done) : until_seen(done);
  auto too_late = until(deadline);
  co_await ends_first(std::move(answered), std::move(too_late));
  co_return *done;
}

}  // namespace ddprun
