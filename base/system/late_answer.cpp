#include "base/system/late_answer.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <mutex>

namespace ddprun {

namespace {

/// The thread has it, too, and may live longer than the event loop.
struct Waiter {
  std::mutex mutex;
  std::optional<asio::any_io_executor> home;  // nullopt: the caller waits no more
  asio::steady_timer* news = nullptr;         // used in the event loop alone
  bool done = false;

  static void tell(const std::shared_ptr<Waiter>& waiter) {
    const std::lock_guard lock{waiter->mutex};
    waiter->done = true;
    if (!waiter->home) return;
    asio::post(*waiter->home, [waiter] {
      if (waiter->news != nullptr) waiter->news->cancel();
    });
  }
  bool is_done() {
    const std::lock_guard lock{mutex};
    return done;
  }
  void leave() {
    const std::lock_guard lock{mutex};
    home.reset();
    news = nullptr;
  }
};

/// Leaves when the coroutine ends, also with its event loop.
struct Leave {
  std::shared_ptr<Waiter> waiter;
  ~Leave() { waiter->leave(); }
};

}  // namespace

asio::awaitable<Result<bool>> done_by(LeftBehindQueue& queue, TimePoint deadline,
                                      std::function<void()> work) {
  asio::steady_timer news{co_await asio::this_coro::executor, deadline};
  const auto waiter = std::make_shared<Waiter>();
  waiter->home = news.get_executor();
  waiter->news = &news;
  const Leave at_end{waiter};
  const auto added = queue.add([waiter, work = std::move(work)] {
    work();
    Waiter::tell(waiter);
  });
  if (!added) co_return added.error();
  while (!waiter->is_done() && Clock::now() < deadline)
    co_await news.async_wait(asio::as_tuple(asio::use_awaitable));
  co_return waiter->is_done();
}

}  // namespace ddprun
