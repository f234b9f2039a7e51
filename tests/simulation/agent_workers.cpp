// The part of AgentShell that stands for processes, and for what happens to an agent itself.
#include <algorithm>
#include <csignal>
#include <string>
#include <utility>

#include "rendezvous/messages/round_messages.hpp"
#include "rendezvous/verdict/judge_end.hpp"
#include "tests/simulation/agent_shell.hpp"

namespace ddprun::simulation {

namespace {

using namespace std::chrono_literals;

constexpr milliseconds kStartApartMax{1'000};  // workers of a round do not end at the same time
constexpr milliseconds kTermMax{1'500};        // how long a worker takes to heed SIGTERM
constexpr milliseconds kKillMax{50};
constexpr milliseconds kStuckMax{25'000};
constexpr milliseconds kHelloMax{2'000};  // until a worker says that it can stay
constexpr milliseconds kParkMax{3'000};   // until it has left a round
constexpr milliseconds kHoldMax{300};     // until it says that it holds
constexpr std::int64_t kStep = 100;       // how many steps are counted then

/// A process that has not been let go is below the fork server, where a sweep does not look.
bool outlives_sweep(const FakeWorker& worker, bool keep) {
  return !worker.runs || (keep && worker.watched && is_spared(worker));
}

}  // namespace

/// The process that the agent knows as the worker of that local rank.
std::map<int, FakeWorker>::iterator AgentShell::watched(int local_rank) {
  return std::ranges::find_if(alive_, [&](const auto& entry) {
    return entry.second.watched && entry.second.local_rank == local_rank;
  });
}

void AgentShell::start_workers(const StartRound& round) {
  watcher_.starts_workers(*this, round);
  ++starts_;
  stopping_ = false;
  round_ = round;
  coordinator_ = connected_to_;
  finished_ = 0;
  has_time_ = false;
  const RankList vacant = seats_in(round.vacant, rules_.workers);
  std::vector<ForkServerShell::Child> fresh;
  for (int rank = 0; rank < rules_.workers; ++rank) {
    const bool is_vacant = has_rank(vacant, rank);
    const auto there = watched(rank);
    if (there == alive_.end()) fresh.push_back({is_vacant ? kNoRound : round.round, rank});
    if (there == alive_.end() || is_vacant) continue;
    there->second.round = round.round;
    there->second.parked = false;
    resize(there->second, round);
    begin_to_work(there->first);
  }
  start_all(fresh);
}

void AgentShell::resize(FakeWorker& worker, const StartRound& round) {
  const int before = std::exchange(worker.world_size, round.world_size);
  if (!world_.plan.resizes && before > 0 && before != round.world_size)
    watcher_.broke("workers that need their number keep it: " + id_ + " had " +
                   std::to_string(before) + ", and round " + std::to_string(round.round) + " has " +
                   std::to_string(round.world_size));
}

void AgentShell::start_parked() {
  ++starts_;
  stopping_ = false;
  std::vector<ForkServerShell::Child> fresh;
  for (int rank = 0; rank < rules_.workers; ++rank)
    if (watched(rank) == alive_.end()) fresh.push_back({kNoRound, rank});
  start_all(fresh);
}

/// It says that it can stay, if it can.
void AgentShell::greet(int serial) {
  if (world_.plan.stays_percent == 0 || !world_.random.chance(world_.plan.stays_percent)) return;
  world_.time.after(world_.random.time(0ms, kHelloMax), [this, serial] {
    const auto worker = alive_.find(serial);
    if (worker == alive_.end()) return;
    worker->second.stays = true;
    says(worker->second.local_rank, CanStay{worker->second.round, world_.plan.resizes});
  });
}

/// Some end before they park, and some do neither: those have no elastic loop.
void AgentShell::live_beside(int serial) {
  if (world_.random.chance(5))
    end_at(serial, world_.time.now() + world_.random.time(0ms, kHelloMax), {.code = 1});
  if (!world_.random.chance(world_.plan.stays_percent)) {
    end_at(serial, world_.time.now() + world_.random.time(0ms, world_.plan.run_max),
           {.code = world_.random.number(0, 1)});
    return;
  }
  world_.time.after(world_.random.time(0ms, kHelloMax), [this, serial] {
    const auto worker = alive_.find(serial);
    if (worker == alive_.end()) return;
    FakeWorker& found = worker->second;
    found.stays = true;
    found.parked = found.round == kNoRound;  // else a round has begun, which it enters now
    says(found.local_rank, CanStay{kNoRound, world_.plan.resizes});
    says(found.local_rank, Parked{kNoRound});
  });
}

void AgentShell::begin_to_work(int serial) {
  const auto length =
      world_.run_time(alive_.at(serial).round) + world_.random.time(0ms, kStartApartMax);
  if (world_.random.chance(world_.plan.failure_percent))
    end_at(serial, world_.time.now() + world_.random.time(0ms, length), {.code = 1});
  else
    end_at(serial, world_.time.now() + length, {});
}

void AgentShell::says(int local_rank, const WorkerWord& what) {
  when_awake([this, local_rank, what] {
    if (!gone()) step(WorkerSaid{local_rank, what});
  });
}

/// Members are never more than one step apart. Some do not answer, and some cannot hold.
void AgentShell::ask_to_hold(int round) {
  for (auto& [serial, worker] : alive_) {
    if (!worker.watched || worker.round != round || !worker.stays || world_.random.chance(2))
      continue;
    worker.held_at = world_.random.chance(2) ? -1 : kStep + world_.random.number(0, 1);
    world_.time.after(world_.random.time(0ms, kHoldMax), [this, serial = serial, round] {
      const auto found = alive_.find(serial);
      if (found == alive_.end() || found->second.round != round) return;
      says(found->second.local_rank, Holding{round, found->second.held_at});
    });
  }
}

void AgentShell::ask_to_leave_after(const LeaveAfter& order) {
  for (auto& [serial, worker] : alive_) {
    if (!worker.watched || worker.round != order.round || !worker.stays) continue;
    // It holds, and has not come so far.
    if (worker.held_at < 0 || worker.held_at >= order.step)
      watcher_.broke("a cut drops nothing: " + id_ + " is to leave round " +
                     std::to_string(order.round) + " behind step " + std::to_string(order.step) +
                     ", and holds at " + std::to_string(worker.held_at));
    if (!worker.ignores_term) leave_soon(serial, order.round);
  }
}

/// Some take long, some never leave, of which some know that they are stuck.
void AgentShell::ask_to_leave(int round) {
  for (const auto& [serial, worker] : alive_) {
    if (!worker.watched || worker.round != round) continue;
    if (worker.stays && worker.ignores_term && world_.random.chance(50))
      says(worker.local_rank, Stuck{round});
    if (worker.stays && !worker.ignores_term) leave_soon(serial, round);
  }
}

/// Some die of what they have lost.
void AgentShell::leave_soon(int serial, int round) {
  world_.time.after(world_.random.time(0ms, kParkMax), [this, serial, round] {
    const auto found = alive_.find(serial);
    if (found == alive_.end() || found->second.round != round || found->second.parked) return;
    if (world_.random.chance(3)) return end_at(serial, world_.time.now(), {.code = 1});
    end_at(serial, TimePoint::max(), {});
    found->second.parked = true;
    says(found->second.local_rank, Parked{round});
  });
}

void AgentShell::kill_workers(const std::vector<int>& local_ranks) {
  for (const auto& [serial, worker] : alive_)
    if (worker.watched && std::ranges::count(local_ranks, worker.local_rank) > 0)
      end_at(serial,
             world_.time.now() + world_.random.time(0ms, worker.stuck ? kStuckMax : kKillMax),
             {.signal = SIGKILL});
}

void AgentShell::signal_workers(int signal) {
  const TimePoint now = world_.time.now();
  world_.trace.note(now, [&] {
    return "host" + std::to_string(host_) + " sends its workers signal " + std::to_string(signal);
  });
  stopping_ = stopping_ || signal != SIGCONT;
  if (fork_server_) fork_server_->look_again();
  for (auto& [serial, worker] : alive_) {
    if (!worker.watched) continue;
    worker.told = worker.told || signal != SIGCONT;
    if (signal == SIGKILL && worker.stuck)
      end_at(serial, now + world_.random.time(0ms, kStuckMax), {.signal = SIGKILL});
    else if (signal == SIGKILL)
      end_at(serial, now + world_.random.time(0ms, kKillMax), {.signal = SIGKILL});
    else if (signal != SIGCONT && !worker.ignores_term)
      end_at(serial, now + world_.random.time(0ms, kTermMax), {.signal = signal});
    else if (signal != SIGCONT)
      end_at(serial, TimePoint::max(), {});  // it cleans up, and does not come to an end
  }
}

/// Some write it and exit, with whatever code, in time or not; others go on.
void AgentShell::ask_for_checkpoint() {
  stopping_ = true;
  for (auto& [serial, worker] : alive_) {
    if (!worker.watched) continue;
    worker.told = true;
    if (world_.random.chance(70))
      end_at(serial, world_.time.now() + world_.random.time(0ms, 2 * rules_.preempt_timeout),
             {.code = world_.random.number(0, 1)});
  }
}

/// The first end that comes is its end.
void AgentShell::end_at(int serial, TimePoint when, ExitStatus how) {
  FakeWorker& worker = alive_.at(serial);
  if (when == TimePoint::max()) worker.ends = when;
  if (when >= worker.ends) return;
  worker.ends = when;
  worker.how = how;
  world_.time.at(when, [this, serial] { end_worker(serial); });
}

void AgentShell::end_worker(int serial) {
  const auto found = alive_.find(serial);
  if (found == alive_.end() || found->second.ends > world_.time.now()) return;
  const FakeWorker worker = found->second;
  alive_.erase(found);
  if (worker.watched)
    note_end(worker);
  else
    ended_[serial] = worker;
}

void AgentShell::note_end(FakeWorker worker) {
  if (worker.how.ok() && worker.round == round_.round) ++finished_;
  report_exit(worker);
}

/// Posted, as the shell does: the machine takes one event at a time.
void AgentShell::report_exit(FakeWorker& worker) {
  if (std::exchange(worker.reported, true)) return;
  WorkerFailure how{.host = "host" + std::to_string(host_),
                    .group_rank = round_.group_rank,
                    .rank = rank_of(round_, worker.local_rank),
                    .local_rank = worker.local_rank,
                    .status = worker.how};
  const TimePoint now = world_.time.now();
  EndClues clues{.rank = how.rank, .status = worker.how, .started = worker.runs, .ended = now};
  clues.stop_sent = worker.told;
  clues.stop_sent_at = now;
  if (worker.how.code == 1 && world_.random.chance(30))
    clues.err.text =
        "Traceback (most recent call last):\n  File \"t.py\", line 9, in step\n"
        "RuntimeError: Connection closed by peer\n";
  const WorkerEnd end = judge_end(clues);
  world_.time.after(0ms, [this, how, end] {
    when_awake([this, how, end] {
      if (!gone()) step(WorkerExited{how, end});
    });
  });
}

/// Waits for what workers have left behind, which KillLeftovers makes an end of.
void AgentShell::begin_sweep(bool keep) {
  sweep_keeps_ = keep;
  const TimePoint at = std::max(leftovers_end_, world_.time.now());
  sweep_gives_up_ = at + kSweepTimeout;
  world_.time.after(std::chrono::ceil<milliseconds>(at - world_.time.now()),
                    [this, number = ++sweeps_] { sweep(number); });
}

/// Kills what is left, and gives up in the end.
void AgentShell::sweep(int number) {
  if (dead_ || number != sweeps_) return;
  if (frozen_) return when_awake([this, number] { sweep(number); });
  const bool given_up = world_.time.now() >= sweep_gives_up_;
  if (!is_swept(sweep_keeps_) && !given_up)
    return world_.time.after(100ms, [this, number] { sweep(number); });
  if (!is_swept(sweep_keeps_)) was_stuck_ = true;
  std::erase_if(alive_,
                [&](const auto& entry) { return !outlives_sweep(entry.second, sweep_keeps_); });
  ++sweeps_;
  sweeping_ = false;
  step(TreeGone{});
}

bool AgentShell::is_swept(bool keep) const {
  return std::ranges::all_of(alive_,
                             [&](const auto& entry) { return outlives_sweep(entry.second, keep); });
}

void AgentShell::kill() {
  if (gone()) return;
  dead_ = true;
  end_fork_server();
  alive_.clear();
  if (receiving_) world_.network.close(link_, Side::kAgent);
}

void AgentShell::power_off() {
  world_.network.cut(host_, true, true);
  if (receiving_) world_.network.break_link(link_, std::nullopt, std::nullopt);
  dead_ = true;
  end_fork_server();
  alive_.clear();
}

void AgentShell::freeze() { frozen_ = true; }

/// What is due and what came meanwhile is seen in any order.
void AgentShell::thaw() {
  if (!frozen_) return;
  frozen_ = false;
  last_heard_ = awake_since_ = world_.time.now();
  if (world_.random.chance(50)) ring();
  for (const Timeline::Task& task : std::exchange(held_, {})) task();
  ring();
}

void AgentShell::stop_signal(int signal) {
  if (gone()) return;
  told_to_stop_ = true;
  when_awake([this, signal] {
    if (!gone()) step(StopSignal{signal});
  });
}

void AgentShell::announce_end(int signal) {
  if (gone()) return;
  end_announced_ = true;
  when_awake([this, signal] {
    if (!gone()) step(EndAnnounced{signal});
  });
}

void AgentShell::worker_exits(ExitStatus how) {
  const auto running = std::ranges::find_if(
      alive_, [&](const auto& entry) { return entry.second.ends > world_.time.now(); });
  if (running != alive_.end()) end_at(running->first, world_.time.now(), how);
}

/// The rank of the first worker that the agent knows in its round.
std::optional<int> AgentShell::rank_that_runs() const {
  for (const auto& [serial, worker] : alive_)
    if (worker.watched && !is_spared(worker) && worker.round == round_.round)
      return rank_of(round_, worker.local_rank);
  return std::nullopt;
}

void AgentShell::worker_waits() {
  when_awake([this] {
    const auto rank = gone() ? std::nullopt : rank_that_runs();
    if (rank) step(WorkerProgressed{{.rank = *rank, .watched = true, .groups = {{"0", 2, 1}}}});
  });
}

void AgentShell::debug_worker(bool begins) {
  when_awake([this, begins] {
    const auto rank = gone() ? std::nullopt : rank_that_runs();
    DebuggersChanged event;
    if (!rank) return;
    if (begins) event.ranks = {{.rank = *rank}};
    step(event);
  });
}

void AgentShell::give_time(bool extended) {
  if (std::exchange(has_time_, extended) == extended)
    watcher_.broke("timeouts are extended once: " + id_ + " does it again");
}

}  // namespace ddprun::simulation
