#include "agent/introspection/introspection.hpp"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "base/clock.hpp"
#include "base/coroutines.hpp"

namespace ddprun {

namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;

constexpr std::size_t kAskersMax = 8;
/// A look at one worker takes less: each of its questions has a deadline of its own.
constexpr milliseconds kLookTimeout{5'000};

}  // namespace

/// A deep look at a worker, while it lasts.
struct Introspection::Looking {
  Looking(const asio::any_io_executor& executor, Depth depth_)
      : depth{depth_}, done{executor, kLookTimeout} {}

  Depth depth;
  std::optional<WorkerFinding> found;
  asio::steady_timer done;  // cancelled when it is
};

struct Introspection::Watched {
  Watched(const asio::any_io_executor& executor, int local_rank_, std::string name_,
          WorkerWatch changes_)
      : local_rank{local_rank_},
        name{std::move(name_)},
        finding{.rank = changes_.rank()},
        changes{std::move(changes_)},
        timer{executor} {}

  int local_rank;
  std::string name;       // its files have it: that of the round in which it was started
  WorkerFinding finding;  // nothing but the rank is known
  std::optional<Inspector> inspector;
  std::shared_ptr<Looking> looking;  // the latest one; null: there is none
  WorkerWatch changes;
  asio::steady_timer timer;
  bool idle = false;
  bool debugged = false;
  std::optional<DebuggedRank> waits;  // for a debugger
  bool gone = false;                  // the round is over
  std::int64_t told_second = -1;      // its arrivals were reported then
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

void Introspection::begin_round(int round, const std::vector<int>& ranks) {
  end_round();
  for (int i = 0; i < static_cast<int>(ranks.size()); ++i)
    workers_.push_back(begin_to_watch(i, watch_name(round, i), WorkerWatch{ranks[i], intervals_}));
}

void Introspection::go_on_in_round(int round, const std::vector<int>& ranks,
                                   const std::vector<int>& fresh) {
  for (auto& worker : workers_) {
    worker->gone = true;
    worker->timer.cancel();
    const int local_rank = worker->local_rank;
    const bool is_fresh = std::ranges::count(fresh, local_rank) > 0;
    const int rank = ranks[local_rank];
    if (is_fresh) {
      worker = begin_to_watch(local_rank, watch_name(round, local_rank), {rank, intervals_});
      continue;
    }
    WorkerLook look;  // its last step may be younger than the last look
    sources_.add_reported(local_rank, look);
    worker = begin_to_watch(local_rank, worker->name,
                            {rank, intervals_, worker->changes.all(look.step)});
  }
}

std::shared_ptr<Introspection::Watched> Introspection::begin_to_watch(int local_rank,
                                                                      std::string name,
                                                                      WorkerWatch changes) {
  auto worker =
      std::make_shared<Watched>(executor_, local_rank, std::move(name), std::move(changes));
  if (folder_) worker->inspector.emplace(*folder_, strains_, worker->name, worker->finding.rank);
  start_coroutine(executor_, watch(worker), report_failure("watching over a worker"));
  return worker;
}

void Introspection::end_round() {
  if (workers_.empty()) return;
  for (const auto& worker : workers_) {
    worker->gone = true;
    worker->timer.cancel();
  }
  workers_.clear();
  told_debugged_.clear();
  if (folder_) folder_->clear();
}

asio::awaitable<void> Introspection::watch(std::shared_ptr<Watched> worker) {
  NextLook next = next_deep_look(Clock::now(), unix_time_us(), intervals_.light);
  while (!worker->gone) {
    const TimePoint soon = Clock::now() + intervals_.light;
    worker->timer.expires_at(next.due > Clock::now() ? std::min(soon, next.due) : soon);
    co_await worker->timer.async_wait(asio::as_tuple(asio::use_awaitable));
    if (worker->gone) co_return;
    const WatchedProcess process = sources_.process(worker->local_rank);
    if (process.ending != Ending::kNone) co_return tell(worker->changes.end(Clock::now()));
    if (process.pid == 0) continue;
    note_wait(*worker);
    WorkerLook look;
    const TimePoint began = Clock::now();
    const bool deep = worker->inspector && began >= next.due;
    if (deep) look = co_await worker->inspector->look(process.pid);
    if (worker->gone) co_return;
    sources_.add_reported(worker->local_rank, look);
    const TimePoint now = Clock::now();
    const auto changed = worker->changes.take(look, now);
    if (deep) {
      const auto pause = worker->changes.deep_pause(duration_cast<milliseconds>(now - began));
      tell_arrivals(*worker, next.second, std::move(look));
      next = next_deep_look(now, unix_time_us(), pause);
    }
    if (!changed) continue;
    worker->idle = changed->idle;
    tell(*changed);
  }
}

void Introspection::look_again() {
  for (const auto& worker : std::vector{workers_}) {
    WorkerLook look;
    sources_.add_reported(worker->local_rank, look);
    if (const auto changed = worker->changes.take(look, Clock::now())) tell(*changed);
  }
}

void Introspection::tell(const RankProgress& progress) const {
  if (progress.rank >= 0) sources_.changed(progress);
}

/// One look in a second is reported. The clock of the time of day may be set, and that of the agent
/// may not.
void Introspection::tell_arrivals(Watched& worker, std::int64_t second, WorkerLook look) const {
  const int rank = worker.changes.rank();
  if (rank < 0 || look.arrivals.empty() || second == worker.told_second) return;
  worker.told_second = second;
  const std::int64_t shift_us = microseconds(Clock::now()) - unix_time_us();
  for (GroupArrivals& group : look.arrivals) group.at_us += shift_us;
  sources_.arrived(
      {.rank = rank, .look = second, .groups = std::move(look.arrivals), .strain = look.strain});
}

std::shared_ptr<Introspection::Watched> Introspection::watched_with(int rank) const {
  const auto found =
      std::ranges::find(workers_, rank, [](const auto& worker) { return worker->finding.rank; });
  return found == workers_.end() ? nullptr : *found;
}

Result<Introspection::Debugged> Introspection::begin_debugging(int rank,
                                                               const OpenDebugger& order) {
  const auto worker = rank < 0 ? nullptr : watched_with(rank);
  const WatchedProcess process =
      worker ? sources_.process(worker->local_rank) : WatchedProcess{0, Ending::kNone};
  if (process.pid == 0 || process.ending != Ending::kNone)
    return Error{Error::Kind::kNotFound,
                 "no worker of this node runs with rank " + std::to_string(rank)};
  if (worker->debugged)
    return Error{Error::Kind::kUnavailable,
                 "rank " + std::to_string(rank) + " is being debugged already"};
  worker->debugged = true;
  tell_debuggers();
  const auto python = worker->inspector ? worker->inspector->debugged_process() : std::nullopt;
  if (python) give(worker, order);
  return Debugged{python.value_or(process.pid), python.has_value()};
}

void Introspection::interrupt_debugged(int rank) {
  const auto worker = watched_with(rank);
  if (worker && worker->debugged) give(worker, InterruptDebugged{});
}

void Introspection::end_debugging(int rank) {
  const auto worker = watched_with(rank);
  if (!worker || !worker->debugged) return;
  worker->debugged = false;
  give(worker, LeaveDebugger{});
  tell_debuggers();
}

void Introspection::set_group_timeouts(bool extended) {
  for (const auto& worker : workers_) give(worker, GroupTimeouts{extended});
}

void Introspection::give(const std::shared_ptr<Watched>& worker, const DebugOrder& order) {
  if (!worker->inspector) return;
  const auto obey = [](std::shared_ptr<Watched> watched, DebugOrder what) -> asio::awaitable<void> {
    co_await watched->inspector->give(std::move(what));
  };
  start_coroutine(executor_, obey(worker, order), report_failure("an order to a worker"));
}

void Introspection::note_wait(Watched& worker) {
  auto wait = worker.inspector ? worker.inspector->wait_for_debugger() : std::nullopt;
  if (wait == worker.waits) return;
  worker.waits = std::move(wait);
  tell_debuggers();
}

/// A worker that waits is not told as such while somebody debugs it.
void Introspection::tell_debuggers() {
  std::vector<DebuggedRank> debugged;
  for (const auto& worker : workers_) {
    if (worker->finding.rank < 0) continue;
    if (worker->debugged)
      debugged.push_back({.rank = worker->finding.rank});
    else if (worker->waits)
      debugged.push_back(*worker->waits);
  }
  if (debugged == told_debugged_) return;
  told_debugged_ = debugged;
  sources_.debuggers_changed(std::move(debugged));
}

/// One look at all workers of the node.
struct Introspection::Round {
  std::vector<std::shared_ptr<Watched>> to_ask;  // the next one is the last
  Depth depth = Depth::kLook;
  TimePoint ends;
  std::vector<WorkerFinding> findings;
  int asking = 0;
  bool over = false;
};

/// Asks one after the other, until none is left or the time is over.
asio::awaitable<void> Introspection::find_out(std::shared_ptr<Round> round) {
  while (!round->over && !round->to_ask.empty()) {
    const auto worker = round->to_ask.back();
    round->to_ask.pop_back();
    if (worker->gone) co_return;
    const WatchedProcess process = sources_.process(worker->local_rank);
    WorkerFinding finding = worker->finding;
    finding.ending = process.ending;
    finding.looked_into = process.pid != 0;
    if (process.ending == Ending::kNone && process.pid != 0)
      finding = co_await look_into(worker, process.pid, round->depth, round->ends);
    if (!worker->gone) round->findings.push_back(std::move(finding));
  }
}

/// Two looks at the same time would disturb each other: a process has one debugger, and what its
/// signal handler writes is for one reader.
asio::awaitable<WorkerFinding> Introspection::look_into(std::shared_ptr<Watched> worker, pid_t pid,
                                                        Depth depth, TimePoint ends) {
  if (!worker->inspector) co_return seen_from_outside(worker->finding.rank, pid);
  const auto other = worker->looking;
  if (other && other->depth >= depth) {
    co_await other->done.async_wait(asio::as_tuple(asio::use_awaitable));
    if (other->found) co_return *other->found;
  }
  const auto own = std::make_shared<Looking>(executor_, depth);
  worker->looking = own;
  const bool idle = worker->idle || depth == Depth::kSample;
  WorkerFinding finding = co_await worker->inspector->find_out(pid, idle, depth, ends);
  own->found = finding;
  own->done.cancel();
  if (worker->looking == own) worker->looking.reset();
  co_return finding;
}

/// Some at a time: with all at once on a machine that is busy, none would answer in time.
asio::awaitable<std::vector<StackGroup>> Introspection::inspect(std::vector<int> first, Depth depth,
                                                                milliseconds patience) {
  const auto round =
      std::make_shared<Round>(Round{workers_, depth, Clock::now() + patience, {}, 0, false});
  std::erase_if(round->to_ask, [](const auto& worker) { return worker->finding.rank < 0; });
  const bool sample = depth == Depth::kSample;
  const auto is_later = [&](const std::shared_ptr<Watched>& worker) {
    return std::ranges::count(first, worker->finding.rank) == 0;
  };  // clang 14 does not compile std::ranges::stable_partition
  if (sample)
    std::erase_if(round->to_ask, is_later);
  else
    std::stable_partition(round->to_ask.begin(), round->to_ask.end(), is_later);
  const auto done = std::make_shared<asio::steady_timer>(executor_, patience);
  const std::size_t askers = std::min(round->to_ask.size(), kAskersMax);
  round->asking = static_cast<int>(askers);
  for (std::size_t i = 0; i < askers; ++i)
    start_coroutine(executor_, find_out(round), [round, done](const std::exception_ptr& failure) {
      report_failure("looking at a worker")(failure);
      if (--round->asking == 0) done->cancel();
    });
  if (askers > 0) co_await done->async_wait(asio::as_tuple(asio::use_awaitable));
  round->over = true;
  if (sample) std::erase_if(round->findings, std::not_fn(sleeps_by_itself));
  std::ranges::sort(round->findings, {}, &WorkerFinding::rank);
  co_return fold(round->findings);
}

}  // namespace ddprun
