#include "base/system/late_answer.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <semaphore>
#include <string>
#include <utility>

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;

/// What an event loop hears of an answer.
struct Asker {
  asio::io_context loop{1};
  LeftBehindQueue queue;
  std::optional<std::optional<std::string>> heard;

  explicit Asker(LeftBehindQueue::Files files = LeftBehindQueue::Files::kOfProcess)
      : queue{2, files} {}

  void ask(TimePoint deadline, std::function<std::string()> work) {
    co_spawn(loop, hear(deadline, std::move(work)), [](const std::exception_ptr&) {});
  }

 private:
  asio::awaitable<void> hear(TimePoint deadline, std::function<std::string()> work) {
    heard = co_await late_answer(queue, deadline, std::move(work));
  }
};

TEST_CASE("an event loop gets the answer of a thread") {
  Asker asker;
  asker.ask(Clock::now() + 60s, [] { return std::string{"here"}; });
  asker.loop.run();
  REQUIRE(asker.heard.has_value());
  CHECK(*asker.heard == "here");
}

TEST_CASE("a thread with files of its own wakes up an event loop that waits for it alone") {
  Asker asker{LeftBehindQueue::Files::kOwn};
  asker.ask(TimePoint::max(), [] { return std::string{"here"}; });
  asker.loop.run_for(60s);
  REQUIRE(asker.heard.has_value());
  CHECK(*asker.heard == "here");
}

TEST_CASE(
    "an event loop has nothing to do while it waits, though others had their answers before") {
  using Files = LeftBehindQueue::Files;
  for (const auto files : {Files::kOfProcess, Files::kOwn}) {
    Asker asker{files};
    asker.ask(TimePoint::max(), [] { return std::string{"here"}; });
    asker.loop.run_for(60s);
    REQUIRE(asker.heard.has_value());
    REQUIRE(asker.queue.done_within(60s));
    asker.heard.reset();

    const auto gate = std::make_shared<std::counting_semaphore<>>(0);
    asker.ask(TimePoint::max(), [gate] {
      gate->acquire();
      return std::string{"late"};
    });
    asker.loop.restart();
    constexpr int kStepsMax = 100;  // an event loop that never rests would go on for ever
    int steps = 0;
    while (steps < kStepsMax && asker.loop.poll_one() > 0) ++steps;
    CHECK(steps < kStepsMax);

    gate->release();
    asker.loop.run_for(60s);
    REQUIRE(asker.heard.has_value());
    CHECK(*asker.heard == "late");
  }
}

TEST_CASE(
    "without an answer an event loop goes on at the deadline, and may end before there is one") {
  const auto gate = std::make_shared<std::counting_semaphore<>>(0);
  const auto silent = [gate] {
    gate->acquire();
    return std::string{"too late"};
  };
  {
    Asker asker;
    asker.ask(Clock::now() + 1ms, silent);
    asker.loop.run();
    REQUIRE(asker.heard.has_value());
    CHECK_FALSE(asker.heard->has_value());
  }
  {
    Asker asker;
    asker.ask(Clock::now() + 60s, silent);
    asker.loop.poll();
    CHECK_FALSE(asker.heard.has_value());
  }
  gate->release(2);
}

}  // namespace
}  // namespace ddprun
