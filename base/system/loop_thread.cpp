#include "base/system/loop_thread.hpp"

#include <boost/asio/post.hpp>
#include <exception>
#include <utility>

#include "base/system/signals.hpp"

namespace ddprun {

LoopThread::LoopThread(asio::io_context& loop, asio::any_io_executor home)
    : loop_{loop}, home_{std::move(home)}, goes_on_{loop.get_executor()} {
  const NoSignals inherited;
  thread_ = std::thread{[this] { run(); }};
}

LoopThread::~LoopThread() { end_within(std::chrono::milliseconds{0}); }

void LoopThread::end_within(std::chrono::milliseconds at_most) {
  if (!thread_.joinable()) return;
  goes_on_.reset();
  if (!ended_.try_acquire_for(at_most)) loop_.stop();
  thread_.join();
}

void LoopThread::run() {
  try {
    loop_.run();
  } catch (...) {
    asio::post(home_, [failure = std::current_exception()] { std::rethrow_exception(failure); });
  }
  ended_.release();
}

}  // namespace ddprun
