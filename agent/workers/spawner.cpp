#include "agent/workers/spawner.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <utility>

#include "base/clock.hpp"
#include "base/coroutines.hpp"
#include "base/log.hpp"
#include "base/number_text.hpp"
#include "base/system/late_answer.hpp"

namespace ddprun {

namespace {

/// A thread takes a millisecond for each process.
constexpr std::chrono::milliseconds kSoon{250};
/// While some hang, those that run are looked at this often.
constexpr std::chrono::seconds kLookAtStarted{1};
/// Each start that hangs adds two.
constexpr std::size_t kTasksMax = 3'000;

}  // namespace

Spawner::Spawner(const asio::any_io_executor& executor, int threads)
    : executor_{executor},
      pool_{threads},
      waits_{kTasksMax},
      changed_{executor, TimePoint::max()} {}

std::optional<Spawner::Processes> Spawner::spawn_soon(std::vector<NewChild> children) {
  last_ = std::make_shared<SlowSpawn>(std::move(children));
  last_->begin(pool_);
  if (!last_->done_within(kSoon)) return std::nullopt;
  return last_->take(executor_);
}

asio::awaitable<Spawner::Processes> Spawner::spawned(std::function<bool()> unwanted) {
  const auto spawn = last_;
  const auto wait = [spawn] { spawn->wait(); };
  const TimePoint late = Clock::now() + kTellSilenceAfter;
  auto done = co_await before(until_unwanted(unwanted), done_by(waits_, late, wait));
  if (done && *done && !**done) {
    log::warn("no answer for {} from '{}': {} Its workers wait", seconds_text(kTellSilenceAfter),
              spawn->program(), kIsItThere);
    auto begun = before(until_one_ends(spawn), done_by(waits_, TimePoint::max(), wait));
    if (co_await before(until_unwanted(unwanted), std::move(begun)))
      co_return spawn->take(executor_);
  } else if (done && *done) {
    co_return spawn->take(executor_);
  }
  spawn->give_up();
  co_return stopped_before(spawn->count());
}

/// A worker may wait for those that hang, and its own end says more than they do.
asio::awaitable<void> Spawner::until_one_ends(std::shared_ptr<SlowSpawn> spawn) {
  while (!spawn->one_has_ended()) co_await until(Clock::now() + kLookAtStarted);
}

asio::awaitable<void> Spawner::until_unwanted(std::function<bool()> unwanted) {
  while (!unwanted()) co_await changed_.async_wait(asio::as_tuple(asio::use_awaitable));
}

}  // namespace ddprun
