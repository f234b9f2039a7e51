#include "rendezvous/transport/handshake_pool.hpp"

#include <algorithm>
#include <boost/asio/async_result.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <iterator>
#include <system_error>
#include <utility>

#include "base/system/signals.hpp"

namespace ddprun {

namespace {

constexpr int kThreadsMax = 4;  // a fifth would wait for the event loop

std::exception_ptr failure_of(const std::function<void()>& work) try {
  work();
  return nullptr;
} catch (...) {
  return std::current_exception();
}

}  // namespace

int handshake_threads(int cpus) { return std::clamp(cpus - 1, 0, kThreadsMax); }

HandshakePool::HandshakePool(int threads) : size_{threads} {}

HandshakePool::~HandshakePool() {
  queue_.stop();
  for (std::thread& thread : threads_) thread.join();
}

asio::awaitable<void> HandshakePool::run(std::function<void()> work) {
  begin();
  if (pieces_ >= size_ * kQueueMax) co_return work();
  ++pieces_;
  std::exception_ptr failure;
  co_await asio::async_initiate<const asio::use_awaitable_t<>&, void()>(
      [&](auto handler) {
        // The caller's event loop has something to do until the caller goes on.
        auto home = asio::prefer(asio::get_associated_executor(handler),
                                 asio::execution::outstanding_work.tracked);
        asio::post(queue_, [this, &work, &failure, home, handler = std::move(handler)]() mutable {
          failure = failure_of(work);
          --pieces_;
          asio::post(home, std::move(handler));
        });
      },
      asio::use_awaitable);
  if (failure) std::rethrow_exception(failure);
}

/// Starts the threads. When the system has no more, those that there are have to do.
void HandshakePool::begin() try {
  if (std::ssize(threads_) == size_) return;
  const NoSignals inherited;
  while (std::ssize(threads_) < size_) threads_.emplace_back([this] { queue_.run(); });
} catch (const std::system_error&) {
  size_ = static_cast<int>(threads_.size());
}

}  // namespace ddprun
