#include "agent/decisions/worker_round.hpp"

#include <algorithm>
#include <csignal>
#include <string>
#include <utility>

#include "base/number_text.hpp"
#include "rendezvous/messages/job_terms.hpp"
#include "rendezvous/messages/round_messages.hpp"
#include "rendezvous/verdict/causes.hpp"

namespace ddprun {

using std::chrono::milliseconds;

namespace {

/// The first failure that was reported (with that rank) may only have followed from another one of
/// this node, which ended later. Then the coordinator gets that one's texts, too.
std::vector<WorkerFailed> own_causes(int round, const RoundOutcome& outcome, int told_rank) {
  const auto first = std::ranges::min_element(outcome.ends, {}, [](const WorkerEnd& end) {
    return std::pair{end.blame, end.began_us};
  });
  std::vector<WorkerFailed> causes;
  if (first == outcome.ends.end() || first->blame > Blame::kPerhaps) return causes;
  for (const WorkerFailure& failure : outcome.failures)
    if (std::to_string(failure.rank) == first->ranks && failure.rank != told_rank)
      causes.push_back({round, failure, *first});
  return causes;
}

/// How long ago it ended; 0 when that is not known.
double age_ms(const WorkerEnd& end, TimePoint now) {
  if (end.ended_us <= 0) return 0;
  return static_cast<double>(std::max<std::int64_t>(microseconds(now) - end.ended_us, 0)) / 1000;
}

/// One has ended before it could enter a round. Another worker is started in its seat by the next
/// round, and fails where everybody hears of it.
void end_preparing(const WorkerFailure& how, AgentState& agent) {
  agent.warn("rank " + std::to_string(how.rank) + " " + describe(how.status) +
             " before it could enter a round");
  agent.act(KillWorkers{{how.local_rank}});
}

/// The user was informed that these workers stay, before they turned out not to leave.
void replace(const RankList& local_ranks, const std::string& reason, AgentState& agent) {
  const bool one = local_ranks.size() == 1;
  agent.warn(counted(std::ssize(local_ranks), "worker") + " " + reason + ": SIGKILL, and " +
             (one ? "a new one takes its place" : "new ones take their places"));
  agent.act(KillWorkers{local_ranks});
}

/// A worker has failed by itself only if nothing asked it to stop, or if it was ending already.
void note_end(RoundOutcome& outcome, const WorkerExited& worker, bool runs) {
  const bool failed = !worker.how.status.ok();
  const bool was_ending = worker.end.blame < Blame::kStopped;
  if (!runs && !(failed && was_ending))
    outcome.stopped[worker.how.rank] = worker.how.log_file;
  else
    (failed ? outcome.failures : outcome.finished).push_back(worker.how);
  outcome.step = std::max(outcome.step, worker.step);
  if (!worker.end.ranks.empty()) outcome.ends.push_back(worker.end);
}

/// They, or what they left behind, have time to end that can be shortened.
bool has_time(const WorkerRound& round) {
  using enum WorkerRound::State;
  const bool ends = round.state() == kStopping || round.state() == kSweeping;
  return ends && round.grace() && !round.grace()->kills();
}

std::string late_text(int workers, Clock::duration left) {
  return counted(workers, "worker") + " did not end within " + seconds_text(kSoonEnough) +
         ": SIGKILL in " + seconds_text(std::chrono::ceil<std::chrono::seconds>(left));
}

}  // namespace

void WorkerRound::prepare(const StartRound& place, TimePoint now) {
  if (!agent_.rules.hears_workers) return agent_.tell(Prepared{});
  if (state_ != State::kIdle && state_ != State::kParked) return;
  state_ = State::kPreparing;
  staying_.prepare();
  if (std::exchange(alive_, agent_.rules.workers) < agent_.rules.workers)
    agent_.act(StartWorkers{place, /*parked=*/true});
  go_on_when_parked(now);
}

void WorkerRound::start(const StartRound& order) {
  state_ = State::kRunning;
  number_ = order.round;
  alive_ = agent_.rules.workers;
  failed_.reset();
  dead_by_.reset();
  staying_.begin_round(order.round, seats_in(order.vacant, agent_.rules.workers), order.world_size);
  outcome_ = {};
  agent_.act(StartWorkers{order});
  tell_whether_all_stay();
  if (staying_.are_prepared()) agent_.tell(Prepared{});
}

void WorkerRound::said(const WorkerSaid& word, TimePoint now) {
  staying_.said(word);
  const bool has_seat = staying_.has_seat(word.local_rank);
  if (asked(*this) == Asked::kHold && has_seat) go_on_when_held(word.what, now);
  const auto* const stuck = std::get_if<Stuck>(&word.what);
  if (stuck != nullptr && stuck->round == number_ && staying_.in_place() &&
      state_ == State::kStopping)
    replace({word.local_rank}, "stays in a collective that cannot end", agent_);
  tell_whether_all_stay();
  const auto* const parked = std::get_if<Parked>(&word.what);
  if (parked != nullptr && parked->round == number_)
    outcome_.step = std::max(outcome_.step, word.step);
  if (parked != nullptr && !has_seat && state_ != State::kPreparing && staying_.are_prepared())
    agent_.tell(Prepared{});
  go_on_when_parked(now);
}

/// One that has failed stays away only until the next round, so its end changes nothing here.
void WorkerRound::tell_whether_all_stay() {
  if (state_ != State::kRunning || failed_) return;
  if (const auto report = staying_.report()) agent_.tell(*report);
}

void WorkerRound::exited(const WorkerExited& worker, TimePoint now) {
  const WorkerFailure& how = worker.how;
  --alive_;
  staying_.ended(how.local_rank);
  const bool had_seat = staying_.has_seat(how.local_rank);
  if (had_seat)
    note_end(outcome_, worker, state_ == State::kRunning);
  else if (state_ == State::kPreparing || state_ == State::kRunning)
    end_preparing(how, agent_);
  if (state_ == State::kStopping && alive_ == 0) return sweep(now);
  if (state_ == State::kParked && alive_ == 0) state_ = State::kIdle;
  go_on_when_parked(now);
  if (holds(*this) && had_seat) give_up_hold(now);
  if (state_ != State::kRunning) return;
  if (!had_seat && staying_.are_prepared()) agent_.tell(Prepared{});
  if (!had_seat) return;
  const int left = alive_ - staying_.living_without_seat();
  if (!how.status.ok() && !failed_)
    if (const auto report = staying_.report(/*one_failed=*/true)) agent_.tell(*report);
  // Its children have its connections, so that those that stay would notice its end late.
  if (!how.status.ok() && staying_.has_reported()) agent_.act(KillWorkers{{how.local_rank}});
  if (!how.status.ok() && (!failed_ || explains(worker.end) < explains(failed_->end))) {
    failed_ = WorkerFailed{number_, how, worker.end, age_ms(worker.end, now), left};
    agent_.tell(*failed_);
  } else if (left == 0 && !failed_) {
    agent_.tell(WorkersFinished{number_});
  } else if (left == 0 && explains(failed_->end) != Explains::kCause) {
    failed_->left = 0;
    agent_.tell(*failed_);
  }
}

/// Reports the step even if no worker ended: changes may follow each other faster than heartbeats,
/// and several changes without a new step restart all workers.
void WorkerRound::tell_stopped() {
  if (agent_.contact && (!outcome_.ends.empty() || outcome_.step >= 0)) {
    for (WorkerFailed& cause : own_causes(number_, outcome_, failed_ ? failed_->failure.rank : -1))
      agent_.tell(std::move(cause));
    agent_.tell(WorkersEnded{number_, outcome_.step, fold_ends(outcome_.ends)});
  }
  agent_.tell(WorkersStopped{number_, parked()});
}

// --- the end ---

ParkedWorkers WorkerRound::parked() const {
  return is_over(*this) ? staying_.parked() : ParkedWorkers{};
}

std::optional<Asked> asked(const WorkerRound& round) {
  return round.grace() ? std::optional{round.grace()->asked} : std::nullopt;
}

bool goes_on(const WorkerRound& round) {
  using enum WorkerRound::State;
  const auto state = round.state();
  const bool is_asked = asked(round).value_or(Asked::kSigkill) < Asked::kSigterm;
  return state == kRunning || state == kParked || state == kPreparing || is_asked;
}

bool holds(const WorkerRound& round) {
  return asked(round) == Asked::kHold || asked(round) == Asked::kLastStep;
}

void WorkerRound::hold(TimePoint now) {
  if (!staying_.hold()) return leave({}, now);
  state_ = State::kStopping;
  agent_.act(AskToHold{number_});
  grace_ = Grace{Asked::kHold, now + std::min(kTimeToHold, agent_.rules.terms.shutdown_timeout)};
  hurry(now);
}

/// A worker that has left already has lost another one, so the current step is lost as well.
void WorkerRound::go_on_when_held(const WorkerWord& word, TimePoint now) {
  const auto* const holding = std::get_if<Holding>(&word);
  if (holding != nullptr && holding->round != number_) return;
  if (holding == nullptr || holding->step < 0) return give_up_hold(now);
  const auto step = staying_.held_at();
  if (!step) return;
  grace_ = Grace{Asked::kLastStep, now + agent_.rules.terms.shutdown_timeout};
  agent_.tell(Holding{number_, *step});
}

void WorkerRound::give_up_hold(TimePoint now) {
  agent_.tell(Holding{number_, -1});
  leave({}, now);
}

void WorkerRound::leave(const RankList& hung, TimePoint now) {
  if (!staying_.leave()) return stop(SIGTERM, now);
  state_ = State::kStopping;
  agent_.act(AskToLeave{number_});
  if (!hung.empty()) agent_.act(KillWorkers{hung});
  grace_ = Grace{Asked::kLeave, now + agent_.rules.terms.shutdown_timeout};
  hurry(now);
  go_on_when_parked(now);
}

void WorkerRound::go_on_when_parked(TimePoint now) {
  if (state_ == State::kStopping && staying_.in_place() && staying_.have_left()) sweep(now);
  if (state_ != State::kPreparing || !staying_.are_prepared()) return;
  state_ = alive_ > 0 ? State::kParked : State::kIdle;
  agent_.tell(Prepared{});
}

void WorkerRound::swept() {
  grace_.reset();
  state_ = staying_.in_place() && alive_ > 0 ? State::kParked : State::kIdle;
  if (state_ == State::kIdle) staying_.clear();
}

void WorkerRound::stop(int signal, TimePoint now) {
  state_ = State::kStopping;
  staying_.end();
  if (alive_ == 0) return sweep(now);
  agent_.act(SignalWorkers{signal});
  agent_.act(SignalWorkers{SIGCONT});  // a worker that is suspended gets its chance, too
  const bool leaves = holds(*this) || asked(*this) == Asked::kLeave;
  const TimePoint ends = now + agent_.rules.terms.shutdown_timeout;
  // Others count on the end of the round by the time that it had for being left.
  grace_ = Grace{Asked::kSigterm, leaves ? std::min(grace_->ends, ends) : ends, now + kSoonEnough};
  hurry(now);
}

void WorkerRound::stop_after_checkpoint(milliseconds time, TimePoint now) {
  state_ = State::kStopping;
  if (alive_ == 0) return sweep(now);
  if (const RankList preparing = staying_.without_seat(); !preparing.empty())
    agent_.act(KillWorkers{preparing});
  agent_.act(AskForCheckpoint{agent_.rules.checkpoint_signal});
  grace_ = Grace{Asked::kCheckpoint, now + time};
}

void WorkerRound::stop_at_once(TimePoint now) {
  if (goes_on(*this)) stop(SIGTERM, now);
  if (state_ == State::kStopping && grace_ && !grace_->kills()) kill(now);
  if (asked(*this) == Asked::kSweep) shorten_grace(milliseconds{0}, now);
}

std::optional<TimePoint> lease_ends(const AgentState& agent, const WorkerRound& round) {
  const bool has_workers = round.state() != WorkerRound::State::kIdle;
  const bool is_bound = agent.follower.knows_a_round() || (agent.keeps_workers && has_workers);
  return agent.contact && is_bound ? agent.contact->lease_ends() : std::nullopt;
}

bool may_outlive_connection(const AgentState& agent, const WorkerRound& round, TimePoint now) {
  const bool may_return =
      agent.follower.knows_a_round() || (agent.keeps_workers && agent.rules.rejoin);
  return round.dead_by() && may_return && now < *round.dead_by();
}

void WorkerRound::hurry(TimePoint now) {
  if (!has_time(*this) || !dead_by_) return;
  grace_->ends = std::min(grace_->ends, *dead_by_);
  check_grace(now);
}

void WorkerRound::shorten_grace(milliseconds time, TimePoint now) {
  if (!has_time(*this)) return;
  grace_->ends = std::min(grace_->ends, now + time);
  check_grace(now);
}

void WorkerRound::check_grace(TimePoint now) {
  if (!grace_ || now < grace_->due()) return;
  if (now < grace_->ends) {
    grace_->says_late.reset();
    return agent_.warn(late_text(alive_, grace_->ends - now));
  }
  if (asked(*this) == Asked::kSweep) {
    grace_.reset();
    return agent_.act(KillLeftovers{});
  }
  if (state_ != State::kStopping) return;
  if (holds(*this)) return give_up_hold(now);
  if (grace_->asked == Asked::kCheckpoint) {
    agent_.warn("no checkpoint within the time that was left for it: stopping " +
                counted(alive_, "worker"));
    return stop(SIGTERM, now);
  }
  if (grace_->asked == Asked::kLeave) {
    replace(staying_.to_leave(), "did not leave the round in time", agent_);
    grace_ = Grace{Asked::kSigkill, now + kKillTimeout};
    return;
  }
  if (!grace_->kills()) return kill(now);
  agent_.warn(counted(alive_, "worker") + " did not end within " + seconds_text(kKillTimeout) +
              " of SIGKILL: the kernel cannot end them (a hung file system or driver)");
  staying_.end();  // others wait, and no second time as long: parked workers are swept away as well
  sweep(now);
}

void WorkerRound::kill(TimePoint now) {
  staying_.end();
  agent_.act(SignalWorkers{SIGKILL});
  grace_ = Grace{Asked::kSigkill, now + kKillTimeout};
}

/// What got SIGTERM together with the workers has the same time as they. If nothing got one, the
/// next round waits for what is left, and staying workers wait most of all.
void WorkerRound::sweep(TimePoint now) {
  const bool is_killed = asked(*this) == Asked::kSigkill;
  const bool in_place = staying_.in_place();
  const auto time =
      std::min(in_place ? kEndsByItself : kLeftoverTime, agent_.rules.terms.shutdown_timeout);
  const TimePoint ends = grace_ && !in_place ? grace_->ends : now + time;
  state_ = State::kSweeping;
  grace_.reset();
  if (!is_killed) grace_ = Grace{Asked::kSweep, ends};
  agent_.act(SweepTree{in_place, is_killed});
  hurry(now);
}

void WorkerRound::tell_again() {
  if (staying_.forget_report()) tell_whether_all_stay();
  if (state_ == State::kRunning && staying_.are_prepared()) agent_.tell(Prepared{});
  if (failed_) return agent_.tell(*failed_);
  const bool has_finished = alive_ == staying_.living_without_seat();
  if (state_ == State::kRunning && has_finished) agent_.tell(WorkersFinished{number_});
}

}  // namespace ddprun
