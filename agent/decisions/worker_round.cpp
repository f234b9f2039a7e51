#include "agent/decisions/worker_round.hpp"

#include <algorithm>
#include <csignal>
#include <string>
#include <utility>

#include "rendezvous/messages/stop_times.hpp"
#include "rendezvous/verdict/fold_ends.hpp"

namespace ddprun {

using std::chrono::milliseconds;

namespace {

/// How long ago it ended; 0 when that is not known.
double age_ms(const WorkerEnd& end, TimePoint now) {
  if (end.ended_us <= 0) return 0;
  return static_cast<double>(std::max<std::int64_t>(microseconds(now) - end.ended_us, 0)) / 1000;
}

}  // namespace

void WorkerRound::start(const StartRound& order) {
  state_ = State::kRunning;
  number_ = order.round;
  alive_ = agent_.rules.workers;
  failed_.reset();
  fence_.reset();
  outcome_ = {};
  progressed_.clear();
  last_progress_.clear();
  agent_.act(StartWorkers{order});
}

void WorkerRound::exited(const WorkerExited& worker, TimePoint now) {
  const WorkerFailure& how = worker.how;
  --alive_;
  note_end(worker);
  if (state_ == State::kStopping && alive_ == 0) return sweep();
  if (state_ != State::kRunning) return;
  if (!how.status.ok() && (!failed_ || explains(worker.end) < explains(failed_->end))) {
    failed_ = WorkerFailed{number_, how, worker.end, age_ms(worker.end, now), alive_};
    agent_.tell(*failed_);
  } else if (alive_ == 0 && !failed_) {
    agent_.tell(WorkersFinished{number_});
  } else if (alive_ == 0 && explains(failed_->end) != Explains::kCause) {
    failed_->left = 0;
    agent_.tell(*failed_);
  }
}

/// Only a worker that nobody has told to stop has failed by itself, or one that was ending already
/// when it was told.
void WorkerRound::note_end(const WorkerExited& worker) {
  const bool failed = !worker.how.status.ok();
  const bool was_ending = worker.end.blame < Blame::kStopped;
  if (state_ != State::kRunning && !(failed && was_ending))
    outcome_.stopped.push_back(worker.how.rank);
  else if (failed)
    outcome_.failures.push_back(worker.how);
  outcome_.step = std::max(outcome_.step, worker.step);
  if (!worker.end.ranks.empty()) outcome_.ends.push_back(worker.end);
}

void WorkerRound::tell_stopped() {
  if (!outcome_.ends.empty() && agent_.contact) {
    tell_of_own_cause();
    agent_.tell(WorkersEnded{number_, outcome_.step, fold_ends(outcome_.ends)});
  }
  agent_.tell(WorkersStopped{number_});
}

/// The first failure that was told may only have followed from another one of this node, which
/// ended later. Then the coordinator gets that one's texts, too.
void WorkerRound::tell_of_own_cause() {
  const auto first = std::ranges::min_element(outcome_.ends, {}, [](const WorkerEnd& end) {
    return std::pair{end.blame, end.began_us};
  });
  if (first->blame != Blame::kOwn && first->blame != Blame::kPerhaps) return;
  const int told = failed_ ? failed_->failure.rank : -1;
  for (const WorkerFailure& failure : outcome_.failures)
    if (std::to_string(failure.rank) == first->ranks && failure.rank != told)
      agent_.tell(WorkerFailed{number_, failure, *first});
}

// --- the end ---

void WorkerRound::stop(int signal, TimePoint now) {
  state_ = State::kStopping;
  if (alive_ == 0) return sweep();
  agent_.act(SignalWorkers{signal});
  agent_.act(SignalWorkers{SIGCONT});  // a worker that is suspended gets its chance, too
  grace_ = Grace{Grace::For::kSigterm, now + agent_.rules.shutdown_timeout};
  hurry(now);
}

void WorkerRound::stop_after_checkpoint(milliseconds time, TimePoint now) {
  state_ = State::kStopping;
  if (alive_ == 0) return sweep();
  agent_.act(AskForCheckpoint{agent_.rules.checkpoint_signal});
  grace_ = Grace{Grace::For::kCheckpoint, now + time};
}

void WorkerRound::stop_at_once(TimePoint now) {
  if (state_ == State::kRunning) stop(SIGTERM, now);
  if (state_ == State::kStopping && grace_ && !is_killed()) kill(now);
}

bool WorkerRound::asks_for_checkpoint() const {
  return grace_ && grace_->what == Grace::For::kCheckpoint;
}

std::optional<TimePoint> WorkerRound::lease_ends() const {
  const bool is_bound =
      agent_.follower.knows_a_round() || (agent_.keeps_workers && state_ != State::kIdle);
  return agent_.contact && is_bound ? agent_.contact->lease_ends() : std::nullopt;
}

bool WorkerRound::may_outlive_connection(TimePoint now) const {
  const bool may_return =
      agent_.follower.knows_a_round() || (agent_.keeps_workers && agent_.rules.rejoin);
  return fence_ && may_return && now < *fence_;
}

void WorkerRound::hurry(TimePoint now) {
  if (state_ != State::kStopping || !grace_ || is_killed() || !fence_) return;
  grace_->ends = std::min(grace_->ends, *fence_);
  if (now >= grace_->ends) kill(now);
}

void WorkerRound::shorten_grace(milliseconds time, TimePoint now) {
  if (state_ != State::kStopping || !grace_ || is_killed()) return;
  grace_->ends = std::min(grace_->ends, now + time);
  if (now >= grace_->ends) end_grace(now);
}

std::optional<TimePoint> WorkerRound::grace_ends() const {
  return grace_ ? std::optional{grace_->ends} : std::nullopt;
}

void WorkerRound::end_grace(TimePoint now) {
  if (state_ != State::kStopping || !grace_) return;
  if (asks_for_checkpoint()) {
    agent_.warn("no checkpoint within the time that was left for it: stopping " +
                std::to_string(alive_) + " workers");
    return stop(SIGTERM, now);
  }
  if (!is_killed()) return kill(now);
  agent_.warn(std::to_string(alive_) + " workers are still there " +
              std::to_string(kKillTimeout.count() / 1000) +
              " s after SIGKILL: the kernel cannot end them (a hung file system or driver)");
  sweep();
}

void WorkerRound::kill(TimePoint now) {
  agent_.act(SignalWorkers{SIGKILL});
  grace_ = Grace{Grace::For::kSigkill, now + kKillTimeout};
}

void WorkerRound::sweep() {
  state_ = State::kSweeping;
  grace_.reset();
  agent_.act(SweepTree{});
}

// --- progress ---

void WorkerRound::progressed(const RankProgress& progress, TimePoint now) {
  if (state_ != State::kRunning) return;
  progressed_[progress.rank] = last_progress_[progress.rank] = {progress, now};
}

void WorkerRound::tell_progress(TimePoint now) {
  Progress message{number_, {}};
  for (auto& [rank, seen] : progressed_) {
    const auto since = std::chrono::duration_cast<milliseconds>(now - seen.at);
    seen.progress.still_ms += since.count();
    message.ranks.push_back(std::move(seen.progress));
    if (message.ranks.size() < kProgressRanksMax) continue;
    agent_.tell(std::exchange(message, Progress{number_, {}}));
  }
  if (!message.ranks.empty()) agent_.tell(std::move(message));
  progressed_.clear();
}

void WorkerRound::tell_again(bool forgot) {
  if (forgot) progressed_ = last_progress_;
  if (failed_) return agent_.tell(*failed_);
  if (alive_ == 0 && state_ == State::kRunning) agent_.tell(WorkersFinished{number_});
}

}  // namespace ddprun
