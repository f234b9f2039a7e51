#include "agent/introspection/introspection.hpp"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "base/clock.hpp"
#include "base/report_failure.hpp"

namespace ddprun {

namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;

/// The coordinator waits for 800 ms.
constexpr milliseconds kInspectionPatience{700};

}  // namespace

struct Introspection::Watched {
  Watched(const asio::any_io_executor& executor, int local_rank_, int rank, LookIntervals intervals)
      : local_rank{local_rank_}, finding{.rank = rank}, changes{rank, intervals}, timer{executor} {}

  int local_rank;
  WorkerFinding finding;  // of which only the rank is known
  std::optional<Inspector> inspector;
  WorkerWatch changes;
  asio::steady_timer timer;
  bool idle = false;
  bool gone = false;  // the round is over
};

Introspection::Introspection(const asio::any_io_executor& executor,
                             std::optional<WatchFolder> folder, LookIntervals intervals,
                             Sources sources)
    : executor_{executor},
      folder_{std::move(folder)},
      intervals_{intervals},
      sources_{std::move(sources)} {}

Introspection::~Introspection() { end_round(); }

std::string Introspection::folder() const { return folder_ ? folder_->path().string() : ""; }

void Introspection::begin_round(int round, int first_rank, int workers) {
  end_round();
  for (int i = 0; i < workers; ++i) {
    workers_.push_back(std::make_shared<Watched>(executor_, i, first_rank + i, intervals_));
    Watched& worker = *workers_.back();
    if (folder_) worker.inspector.emplace(*folder_, watch_name(round, i), first_rank + i);
    co_spawn(executor_, watch(workers_.back()), report_failure("watching over a worker"));
  }
}

void Introspection::end_round() {
  for (const auto& worker : workers_) {
    worker->gone = true;
    worker->timer.cancel();
  }
  workers_.clear();
  if (folder_) folder_->clear();
}

asio::awaitable<void> Introspection::watch(std::shared_ptr<Watched> worker) {
  TimePoint deep_due = Clock::now() + intervals_.light;
  while (!worker->gone) {
    worker->timer.expires_after(intervals_.light);
    co_await worker->timer.async_wait(asio::as_tuple(asio::use_awaitable));
    if (worker->gone) co_return;
    const WatchedProcess process = sources_.process(worker->local_rank);
    if (process.ended) co_return sources_.changed(worker->changes.end(Clock::now()));
    if (process.pid == 0) continue;
    WorkerLook look;
    const TimePoint began = Clock::now();
    const bool deep = worker->inspector && began >= deep_due;
    if (deep) look = co_await worker->inspector->look(process.pid);
    if (worker->gone) co_return;
    sources_.add_told(worker->local_rank, look);
    const TimePoint now = Clock::now();
    const auto changed = worker->changes.take(look, now);
    if (deep) deep_due = now + worker->changes.deep_pause(duration_cast<milliseconds>(now - began));
    if (!changed) continue;
    worker->idle = changed->idle;
    sources_.changed(*changed);
  }
}

asio::awaitable<void> Introspection::find_out(
    std::shared_ptr<Watched> worker, bool may_disturb,
    std::shared_ptr<std::vector<WorkerFinding>> findings) {
  const WatchedProcess process = sources_.process(worker->local_rank);
  WorkerFinding finding = worker->finding;
  finding.ended = process.ended;
  if (!process.ended && process.pid != 0 && worker->inspector)
    finding = co_await worker->inspector->find_out(process.pid, worker->idle, may_disturb);
  if (!worker->gone) findings->push_back(std::move(finding));
}

/// All at once: each of them waits for its worker most of the time.
asio::awaitable<std::vector<StackGroup>> Introspection::inspect(bool may_disturb) {
  const auto findings = std::make_shared<std::vector<WorkerFinding>>();
  const auto asked = workers_;
  const auto answered = std::make_shared<std::size_t>(0);
  const auto done = std::make_shared<asio::steady_timer>(executor_, kInspectionPatience);
  for (const auto& worker : asked)
    co_spawn(executor_, find_out(worker, may_disturb, findings),
             [=, all = asked.size()](const std::exception_ptr& failure) {
               report_failure("looking at a worker")(failure);
               if (++*answered == all) done->cancel();
             });
  if (!asked.empty()) co_await done->async_wait(asio::as_tuple(asio::use_awaitable));
  std::vector<WorkerFinding> in_time = *findings;
  std::ranges::sort(in_time, {}, &WorkerFinding::rank);
  co_return fold(in_time);
}

}  // namespace ddprun
