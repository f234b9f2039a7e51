#include "rendezvous/transport/handshake_pool.hpp"

#include <pthread.h>

#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <csignal>
#include <cstddef>
#include <functional>
#include <optional>
#include <semaphore>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/run_until.hpp"

namespace ddprun {
namespace {

// An event loop whose coroutines have work, and a pool that does it.
struct HandshakePoolFixture {
  /// Has the pool do `work`, and notes where the loop goes on.
  void spawn(std::function<void()> work) {
    co_spawn(
        io,
        [](HandshakePoolFixture& f, std::function<void()> piece) -> asio::awaitable<void> {
          co_await f.pool->run(std::move(piece));
          f.went_on.push_back(std::this_thread::get_id());
        }(*this, std::move(work)),
        [this](const std::exception_ptr& failure) { failed = failed || failure != nullptr; });
  }

  /// Has all threads of the pool wait until let_go(), and as many pieces of work as it keeps.
  void fill(int threads) {
    pool.emplace(threads);
    for (int i = 0; i < threads * HandshakePool::kQueueMax; ++i)
      spawn([this] {
        ++begun;
        at_work.release();
        gate.acquire();
        ++ended;
      });
    io.poll();
    for (int i = 0; i < threads; ++i) at_work.acquire();
  }
  void let_go(int pieces) { gate.release(pieces); }

  asio::io_context io{1};
  std::vector<std::thread::id> went_on;
  bool failed = false;
  std::atomic<int> begun = 0;
  std::atomic<int> ended = 0;
  std::counting_semaphore<> at_work{0};
  std::counting_semaphore<> gate{0};
  std::optional<HandshakePool> pool;
};

TEST_CASE("the event loop keeps a CPU, and takes no more than four others") {
  CHECK(handshake_threads(1) == 0);
  CHECK(handshake_threads(2) == 1);
  CHECK(handshake_threads(5) == 4);
  CHECK(handshake_threads(192) == 4);
}

TEST_CASE_METHOD(HandshakePoolFixture,
                 "HandshakePool works elsewhere; its caller goes on at home") {
  pool.emplace(2);
  constexpr std::size_t kPieces = 2 * HandshakePool::kQueueMax;
  std::vector<std::thread::id> worked(kPieces);
  for (auto& where : worked) spawn([&] { where = std::this_thread::get_id(); });
  run_until(io, "all work is done", [&] { return went_on.size() == kPieces; });
  const auto home = std::this_thread::get_id();
  CHECK(std::set(went_on.begin(), went_on.end()) == std::set{home});
  CHECK_FALSE(failed);
  const std::set<std::thread::id> threads{worked.begin(), worked.end()};
  CHECK_FALSE(threads.contains(std::thread::id{}));
  CHECK_FALSE(threads.contains(home));
  CHECK(threads.size() <= 2);
}

TEST_CASE_METHOD(HandshakePoolFixture, "without threads the caller works") {
  pool.emplace(0);
  std::thread::id worked;
  spawn([&] { worked = std::this_thread::get_id(); });
  run_until(io, "the work is done", [&] { return went_on.size() == 1; });
  CHECK(worked == std::this_thread::get_id());
}

// While it lives, no thread can be started: there is no address space for its stack.
struct NoThreads {
  NoThreads() {
    pthread_getattr_default_np(&before);
    pthread_attr_t huge;
    pthread_getattr_default_np(&huge);
    pthread_attr_setstacksize(&huge, std::size_t{1} << 60);
    pthread_setattr_default_np(&huge);
    pthread_attr_destroy(&huge);
  }
  ~NoThreads() {
    pthread_setattr_default_np(&before);
    pthread_attr_destroy(&before);
  }
  pthread_attr_t before{};
};

TEST_CASE_METHOD(HandshakePoolFixture, "where the system has no threads left, the caller works") {
  const NoThreads full;
  pool.emplace(2);
  std::thread::id worked;
  spawn([&] { worked = std::this_thread::get_id(); });
  run_until(io, "the work is done", [&] { return went_on.size() == 1; });
  CHECK(worked == std::this_thread::get_id());
  CHECK_FALSE(failed);
}

TEST_CASE_METHOD(HandshakePoolFixture, "beyond what the pool keeps, the caller works") {
  fill(2);
  std::thread::id worked;
  spawn([&] { worked = std::this_thread::get_id(); });
  run_until(io, "the caller has worked", [&] { return went_on.size() == 1; });
  CHECK(worked == std::this_thread::get_id());
  let_go(2 * HandshakePool::kQueueMax);
  run_until(io, "all work is done",
            [&] { return went_on.size() == 2 * HandshakePool::kQueueMax + 1; });
  spawn([&] { worked = std::this_thread::get_id(); });
  run_until(io, "there is room again",
            [&] { return went_on.size() == 2 * HandshakePool::kQueueMax + 2; });
  CHECK(worked != std::this_thread::get_id());
}

TEST_CASE_METHOD(HandshakePoolFixture, "an exception of the work is the caller's") {
  pool.emplace(1);
  spawn([] { throw std::runtime_error{"no memory"}; });
  run_until(io, "the caller has failed", [&] { return failed; });
  CHECK(went_on.empty());
}

TEST_CASE_METHOD(HandshakePoolFixture, "HandshakePool's threads take no signals") {
  pool.emplace(1);
  bool blocked = true;
  spawn([&] {
    sigset_t mine;
    pthread_sigmask(SIG_SETMASK, nullptr, &mine);
    for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGCHLD, SIGUSR1})
      blocked = blocked && sigismember(&mine, signal) == 1;
  });
  run_until(io, "the work is done", [&] { return went_on.size() == 1; });
  CHECK(blocked);
}

TEST_CASE_METHOD(HandshakePoolFixture, "a loop whose work is done elsewhere does not end before") {
  pool.emplace(1);
  spawn([this] { gate.acquire(); });
  CHECK(io.poll() > 0);
  CHECK_FALSE(io.stopped());
  let_go(1);
  io.run();
  CHECK(went_on.size() == 1);
}

TEST_CASE_METHOD(HandshakePoolFixture,
                 "a pool that ends waits for its threads, and drops the rest") {
  fill(2);
  let_go(2 * HandshakePool::kQueueMax);
  pool.reset();
  CHECK(ended == begun);
  CHECK(went_on.empty());
  io.restart();
  io.poll();
  CHECK(static_cast<int>(went_on.size()) == ended);
}

}  // namespace
}  // namespace ddprun
