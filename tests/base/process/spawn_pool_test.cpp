#include "base/process/spawn_pool.hpp"

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <memory>
#include <mutex>
#include <semaphore>
#include <set>
#include <thread>

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;

TEST_CASE("SpawnPool does every piece of work once, again and again") {
  SpawnPool pool{4};
  for (int round = 0; round < 100; ++round) {
    std::vector<std::atomic<int>> calls(50);
    pool.for_each(50, [&](int i) { ++calls[i]; });
    for (const auto& count : calls) CHECK(count == 1);
  }
  pool.for_each(0, [](int) { FAIL("there is no work"); });
}

TEST_CASE("SpawnPool works on several threads at once") {
  SpawnPool pool{3};
  std::atomic<int> there = 0;
  // Each waits for the others: on fewer threads this would never end.
  pool.for_each(3, [&](int) {
    ++there;
    while (there < 3) std::this_thread::yield();
  });
  CHECK(there == 3);
}

TEST_CASE("SpawnPool's threads live on between two pieces of work, as what they start does") {
  SpawnPool pool{2};
  std::mutex mutex;
  std::set<std::thread::id> threads;
  for (int round = 0; round < 50; ++round)
    pool.for_each(4, [&](int) {
      const std::lock_guard lock{mutex};
      threads.insert(std::this_thread::get_id());
    });
  CHECK(threads.size() <= 2);
  CHECK_FALSE(threads.contains(std::this_thread::get_id()));
}

TEST_CASE("SpawnPool's threads take no signals, and leave the caller's as they are") {
  sigset_t none, before, after;
  sigemptyset(&none);
  pthread_sigmask(SIG_SETMASK, &none, &before);
  SpawnPool pool{1};
  bool blocked = true;
  pool.for_each(1, [&](int) {
    sigset_t mine;
    pthread_sigmask(SIG_SETMASK, nullptr, &mine);
    for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGCHLD, SIGUSR1, SIGWINCH})
      blocked = blocked && sigismember(&mine, signal) == 1;
  });
  CHECK(blocked);
  pthread_sigmask(SIG_SETMASK, &before, &after);
  CHECK(sigisemptyset(&after) == 1);
}

TEST_CASE("SpawnPool has one thread at least") {
  SpawnPool pool{0};
  int calls = 0;
  pool.for_each(3, [&](int) { ++calls; });
  CHECK(calls == 3);
}

TEST_CASE("SpawnPool without work has no threads to wait for") {
  const SpawnPool pool{0};
  SUCCEED("it ended");
}

TEST_CASE(
    "nobody waits for work that hangs, neither does what comes behind it nor the pool's end") {
  struct Gate {
    std::binary_semaphore opened{0};
    std::atomic<int> passed = 0;
  };
  const auto gate = std::make_shared<Gate>();
  std::shared_ptr<SpawnPool::Batch> hanging;
  {
    SpawnPool pool{2};
    hanging = pool.begin(1, [gate](int) {
      gate->opened.acquire();
      ++gate->passed;
    });
    CHECK_FALSE(hanging->done_within(1ms));
    std::atomic<int> calls = 0;
    pool.for_each(3, [&](int) { ++calls; });
    CHECK(calls == 3);
  }
  CHECK(gate->passed == 0);
  gate->opened.release();
  hanging->wait();
  CHECK(gate->passed == 1);
}

}  // namespace
}  // namespace ddprun
