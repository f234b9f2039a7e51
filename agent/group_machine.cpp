#include "agent/group_machine.hpp"

#include <algorithm>
#include <csignal>
#include <utility>

#include "base/match.hpp"
#include "rendezvous/rounds/standing_notes.hpp"
#include "rendezvous/verdict/fold_ends.hpp"

namespace ddprun {

namespace {

/// The earlier of two times, one of which may never come.
std::optional<TimePoint> earlier(std::optional<TimePoint> a, std::optional<TimePoint> b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

std::chrono::milliseconds beat_interval(const AgentRules& rules) {
  return std::max(rules.heartbeat_timeout / kBeatsPerTimeout, std::chrono::milliseconds{1});
}

/// How long ago it ended; 0 when that is not known.
double age_ms(const WorkerEnd& end, TimePoint now) {
  if (end.ended_us <= 0) return 0;
  return static_cast<double>(std::max<std::int64_t>(microseconds(now) - end.ended_us, 0)) / 1000;
}

/// The coordinator compares the ends of all nodes, so they are told in its time.
void tell_in_its_time(AgentMessage& message, std::int64_t offset_us) {
  const auto shift = [&](WorkerEnd& end) {
    end.began_us += offset_us;
    end.ended_us += offset_us;
  };
  if (auto* failed = std::get_if<WorkerFailed>(&message)) shift(failed->end);
  if (auto* ended = std::get_if<WorkersEnded>(&message)) std::ranges::for_each(ended->ends, shift);
}

}  // namespace

std::vector<AgentAction> AgentMachine::step(const AgentEvent& event, TimePoint now) {
  if (state_ == State::kExited) return {};
  match(
      event,  //
      [&](const AgentBegins&) { reach_coordinator(rules_.join_timeout, now); },
      [&](const Ordered& e) {
        if (!contact_) return;  // read from a connection that has been given up meanwhile
        contact_->last_heard = now;
        obey(e.message, now);
      },
      [&](const WorkerExited& e) { exited(e, now); }, [&](const TreeGone&) { after_sweep(now); },
      [&](const WorkersRun&) {
        if (state_ == State::kRunning && contact_) tell(WorkersStarted{round_});
      },
      [&](const Connected& e) {
        contact_ = Contact{now, now, std::nullopt, e.asked};
        contact_->place = e.place.empty() ? reaching_ : e.place;
        contact_->sent = e.asked.value_or(now);
        met_ = true;
      },
      [&](const CoordinatorLost& e) { lose_coordinator(Loss::kClosed, e.reason, now); },
      [&](const CoordinatorUnreachable& e) { unreachable(e, now); },
      [&](const StopSignal& e) { request_stop(e.signal, now); },
      [&](const EndAnnounced& e) { announce_end(e.signal, now); },
      [&](const PassOn& e) {
        if (state_ == State::kRunning || state_ == State::kStopping)
          actions_.push_back(SignalWorkers{e.signal, false});
      },
      [&](const WorkerProgressed& e) {
        if (state_ != State::kRunning) return;
        progressed_[e.progress.rank] = told_last_[e.progress.rank] = {e.progress, now};
      },
      [&](const WorkersInspected& e) { tell_inspected(e); }, [&](const Alarm&) { alarm(now); });
  tell_standby();
  return std::exchange(actions_, {});
}

void AgentMachine::obey(const CoordinatorMessage& order, TimePoint now) {
  note(order);
  match(
      order,                                     //
      [&](const Joined& m) { joined(m, now); },  //
      [&](const Candidate&) {
        if (held_end_) tell(FinalStatus{*held_end_});
        if (contact_->voting_until) return;
        const bool votes = has_successors() || !search_;
        const auto patience = std::max(rules_.heartbeat_timeout / 2, kVotingMin);
        contact_->voting_until = now + (votes ? patience : kVotingOfNewcomer);
      },
      [&](const RequestVote& m) { promise(m, now); },
      [&](const Redirect& m) { go_elsewhere(m, now); },  //
      [&](const Beat& m) {
        hear_clock(m.clock_us, m.echo_us, now);
        if (m.echo_us > 0) extend_lease(m.lease_ms);
        note_settled(voter_, m);
      },
      [&](const Waiting& m) { hear_clock(m.clock_us, m.echo_us, now); },
      [](const Spare&) {},                               // waits, as before
      [](const Identity&) {},                            // nobody has asked
      [](const HangFound&) {}, [](const HangOver&) {},   // the user is told
      [](const VerdictFound&) {},                        // the agent has taken it
      [](const Restarted&) {}, [](const JobTimes&) {},   // the same
      [](const StatusPart&) {}, [](const DumpPart&) {},  // Agent hands them to who has asked
      [&](const Inspect& m) {
        if (m.round == round_ && state_ == State::kRunning) actions_.push_back(InspectWorkers{m});
      },
      [&](const StartRound& m) { start(m, now); },
      [&](const Reconfigure&) { beat(now); },  // which tells that this node knows of it
      [&](const StopRound& m) {
        if (m.round != round_) return;
        if (m.at_once && state_ == State::kStopping && grace_ &&
            grace_->what != Grace::For::kSigkill)
          return kill(now);
        if (state_ != State::kRunning) return;
        if (m.at_once) {
          stop(SIGTERM, now);
          if (grace_) kill(now);
        } else if (m.checkpoint_ms > 0)
          stop_after_checkpoint(std::chrono::milliseconds{m.checkpoint_ms}, now);
        else
          stop(SIGTERM, now);
      },
      [&](const EndJob& m) {
        hold_end(m, now);
        if (!m.held) exit_as_told(now);
      },
      [&](const Dismiss&) { exit_as_told(now); },
      [&](const Refused& m) {
        if (search_ && !has_successors() && !m.other_job) search_.reset();  // it tells why
        if (search_) return give_up_candidate(now);                         // of another job
        exit_with({AgentEnd::Why::kRefused, {}, 0, m.reason}, SIGTERM, now);
      });
}

/// Remembers how far the job is, also when the order itself comes too late to be obeyed: a
/// coordinator that is started anew has it from the agents only.
void AgentMachine::note(const CoordinatorMessage& order) {
  const auto hear = [&](const auto& m) {
    known_ = {std::max(known_.round, m.round), std::max(known_.attempt, m.attempt)};
  };
  if (const auto* start = std::get_if<StartRound>(&order)) {
    hear(*start);
    note_seat(*start);
  }
  if (const auto* stop = std::get_if<StopRound>(&order)) hear(*stop);
  if (const auto* spare = std::get_if<Spare>(&order)) hear(*spare);
  note_standing(order);
}

/// A coordinator that is there answers a join as soon as it answers a beat, and has a little more
/// time where beats have very little.
void AgentMachine::reach_coordinator(std::chrono::milliseconds patience_with_refusals,
                                     TimePoint now) {
  if (rules_.places.size() > 1) return look_around(now);
  const auto answer = std::max(rules_.heartbeat_timeout, kAnswerTimeoutMin);
  reaching_.clear();
  actions_.push_back(ReachCoordinator{{rules_.join_timeout, patience_with_refusals, answer},
                                      known_,
                                      pause_before_joining(),
                                      voter_,
                                      ""});
}

/// Until the coordinator counts this node, it expects no heartbeat of it.
void AgentMachine::joined(const Joined& answer, TimePoint now) {
  const bool forgotten = coming_back_ && !has_successors() && !answer.resumed;
  if (forgotten || !may_lead(voter_, answer)) return give_up_candidate(now);
  keeps_workers_ = answer.keeps_workers;
  kept_at_ = contact_->place;
  if (keeps_workers_) contact_->counts = true;
  rules_.heartbeat_timeout = std::chrono::milliseconds{answer.heartbeat_timeout_ms};
  contact_->beat_due = now + beat_interval(rules_);
  hear_clock(answer.clock_us, 0, now);
  if (contact_->asked && answer.clock_us > 0)
    contact_->clock.heard(microseconds(*contact_->asked), answer.clock_us, microseconds(now));
  if (announced_) tell_of_end(now);  // the last connection may have taken it along
  if (coming_back_) resumed();
  // The coordinator is to know that it is heard, and the lease is to grow at once.
  if (answer.epoch > 0 || answer.keeps_workers) beat(now);
}

void AgentMachine::hear_clock(std::int64_t clock_us, std::int64_t echo_us, TimePoint now) {
  if (clock_us > 0) {
    contact_->its_clock_us = clock_us;
    contact_->its_clock_heard = now;
  }
  if (echo_us <= 0 || clock_us <= 0) return;
  contact_->clock.heard(echo_us, clock_us, microseconds(now));
  const TimePoint sent{std::chrono::microseconds{echo_us}};
  if (sent <= now) contact_->sent = std::max(contact_->sent, sent);
}

void AgentMachine::start(const StartRound& order, TimePoint now) {
  if (state_ != State::kIdle || end_ || rejoining_) return;
  const bool has_lease = contact_->counts && contact_->lease > TimePoint{};
  if (has_lease && now >= contact_->lease) {  // others may have begun a round
    actions_.push_back(Disconnect{});
    return lose_coordinator(Loss::kSilent, "its order came too late", now);
  }
  state_ = State::kRunning;
  losses_ = {};
  round_ = order.round;
  held_end_.reset();
  alive_ = rules_.workers;
  failed_.reset();
  fence_.reset();
  outcome_ = {};
  progressed_.clear();
  told_last_.clear();
  actions_.push_back(StartWorkers{order});
}

void AgentMachine::exited(const WorkerExited& worker, TimePoint now) {
  const WorkerFailure& how = worker.how;
  --alive_;
  note_end(worker);
  if (state_ == State::kStopping && alive_ == 0) return sweep();
  if (state_ != State::kRunning) return;
  if (!how.status.ok() && (!failed_ || explains(worker.end) < explains(failed_->end))) {
    failed_ = WorkerFailed{round_, how, worker.end, age_ms(worker.end, now), alive_};
    tell(*failed_);
  } else if (alive_ == 0 && !failed_) {
    tell(WorkersFinished{round_});
  } else if (alive_ == 0 && explains(failed_->end) != Explains::kCause) {
    failed_->left = 0;
    tell(*failed_);
  }
}

/// Only a worker that nobody has told to stop has failed by itself, or one that was ending already
/// when it was told.
void AgentMachine::note_end(const WorkerExited& worker) {
  const bool failed = !worker.how.status.ok();
  const bool was_ending = worker.end.blame < Blame::kStopped;
  if (state_ != State::kRunning && !(failed && was_ending))
    outcome_.stopped.push_back(worker.how.rank);
  else if (failed)
    outcome_.failures.push_back(worker.how);
  outcome_.step = std::max(outcome_.step, worker.step);
  if (!worker.end.ranks.empty()) outcome_.ends.push_back(worker.end);
}

void AgentMachine::tell_ends() {
  if (outcome_.ends.empty() || !contact_) return;
  tell_of_own_cause();
  tell(WorkersEnded{round_, outcome_.step, fold_ends(outcome_.ends)});
}

/// The first failure that was told may only have followed from another one of this node, which
/// ended later. Then the coordinator gets that one's texts, too.
void AgentMachine::tell_of_own_cause() {
  const auto first = std::ranges::min_element(outcome_.ends, {}, [](const WorkerEnd& end) {
    return std::pair{end.blame, end.began_us};
  });
  if (first->blame != Blame::kOwn && first->blame != Blame::kPerhaps) return;
  const int told = failed_ ? failed_->failure.rank : -1;
  for (const WorkerFailure& failure : outcome_.failures)
    if (std::to_string(failure.rank) == first->ranks && failure.rank != told)
      tell(WorkerFailed{round_, failure, *first});
}

void AgentMachine::exit_with(AgentEnd end, int signal, TimePoint now) {
  if (!end_) end_ = std::move(end);  // the first reason is the one that users want to know
  if (state_ == State::kRunning || asked_for_checkpoint()) stop(signal, now);
  if (state_ == State::kIdle) after_sweep(now);
}

/// When the coordinator is lost now, the next one is told how the job has ended.
void AgentMachine::hold_end(const EndJob& end, TimePoint now) {
  held_end_ = end;
  held_end_->held = false;
  if (end.held) tell(EndAcknowledged{});
  if (state_ == State::kRunning || asked_for_checkpoint()) stop(SIGTERM, now);
}

void AgentMachine::exit_as_told(TimePoint now) {
  if (held_end_) exit_with({AgentEnd::Why::kJobEnded, *held_end_, 0, ""}, SIGTERM, now);
}

void AgentMachine::stop(int signal, TimePoint now) {
  state_ = State::kStopping;
  if (alive_ == 0) return sweep();
  actions_.push_back(SignalWorkers{signal});
  actions_.push_back(SignalWorkers{SIGCONT});  // a worker that is suspended gets its chance, too
  grace_ = Grace{Grace::For::kSigterm, now + rules_.shutdown_timeout};
  hurry(now);
}

void AgentMachine::sweep() {
  state_ = State::kSweeping;
  grace_.reset();
  actions_.push_back(SweepTree{});
}

void AgentMachine::after_sweep(TimePoint now) {
  state_ = State::kIdle;
  if (end_) {
    state_ = State::kExited;
    if (end_->why == AgentEnd::Why::kStopSignal)
      tell(Leave{"stopped by " + signal_name(end_->signal)});
    tell_standby();
    actions_.push_back(Exit{*end_});
  } else if (rejoining_) {
    rejoining_ = false;
    if (has_successors()) return search(now);
    reach_coordinator(rules_.heartbeat_timeout, now);
  } else if (!held_end_) {
    tell_ends();
    tell(WorkersStopped{round_});
  }
}

/// Whoever is cut off stops its workers: the others go on without this node, with its ranks.
void AgentMachine::lose_coordinator(Loss loss, const std::string& reason, TimePoint now) {
  if (!contact_) return;
  count_loss(now);
  const bool obeyed = contact_->beat_due.has_value();
  part(now);
  if (end_) return;
  if (search_ && !obeyed) return try_next(now);
  const bool runs = state_ == State::kRunning && loss == Loss::kClosed;
  if (may_run_on() && runs && now < *fence_) return come_back(now);
  if (has_successors()) return stop_and_search(reason, now);
  if (!rules_.rejoin || gives_up_joining(now))
    return exit_with({AgentEnd::Why::kCoordinatorLost, {}, 0, reason}, SIGTERM, now);
  actions_.push_back(Warn{"lost the coordinator (" + reason +
                          "): stopping the workers of this node, then joining again"});
  rejoining_ = true;
  if (state_ == State::kRunning) stop(SIGTERM, now);
  if (state_ == State::kIdle) after_sweep(now);
}

/// A connection that held for some time was no loss in vain: a spare may wait for days.
void AgentMachine::count_loss(TimePoint now) {
  if (now - contact_->since >= rules_.heartbeat_timeout) losses_ = {};
  if (losses_.count++ == 0) losses_.first = now;
}

bool AgentMachine::gives_up_joining(TimePoint now) const {
  return losses_.count > 1 && now - losses_.first >= rules_.join_timeout;
}

/// The first time it joins again at once; then the pauses are those of attempts that fail.
std::chrono::milliseconds AgentMachine::pause_before_joining() const {
  if (losses_.count < 2) return {};
  return ConnectPlan::pause_number(static_cast<std::size_t>(losses_.count - 2));
}

void AgentMachine::tell(AgentMessage message) {
  if (!contact_) return;
  tell_in_its_time(message, contact_->clock.offset_us().value_or(0));
  actions_.push_back(Tell{std::move(message)});
}

/// In the beats, so that a job of ten thousand workers is no more trouble than its nodes are.
void AgentMachine::tell_progress(TimePoint now) {
  Progress message{round_, {}};
  for (auto& [rank, seen] : progressed_) {
    using std::chrono::milliseconds;
    const auto since = std::chrono::duration_cast<milliseconds>(now - seen.at);
    seen.progress.still_ms += since.count();
    message.ranks.push_back(std::move(seen.progress));
    if (message.ranks.size() < kProgressRanksMax) continue;
    tell(std::exchange(message, Progress{round_, {}}));
  }
  if (!message.ranks.empty()) tell(std::move(message));
  progressed_.clear();
}

void AgentMachine::tell_inspected(const WorkersInspected& answer) {
  if (answer.groups.empty()) return tell(Inspected{answer.inspection, {}, true});
  for (const StackGroup& group : answer.groups)
    tell(Inspected{answer.inspection, group, &group == &answer.groups.back()});
}

std::optional<TimePoint> AgentMachine::silence_ends() const {
  if (!contact_ || rules_.in_one_process) return std::nullopt;
  if (contact_->voting_until) return contact_->voting_until;
  if (const auto lease = lease_ends())
    return std::min(*lease, contact_->sent + rules_.heartbeat_timeout * 4 / 5);
  return contact_->last_heard + rules_.heartbeat_timeout;
}

std::optional<TimePoint> AgentMachine::next_alarm() const {
  if (state_ == State::kExited) return std::nullopt;
  const auto grace_ends = grace_ ? std::optional{grace_->ends} : std::nullopt;
  const auto beat_due = contact_ ? contact_->beat_due : std::nullopt;
  return earlier(grace_ends, earlier(beat_due, silence_ends()));
}

void AgentMachine::alarm(TimePoint now) {
  if (grace_ && now >= grace_->ends) end_grace(now);
  check_silence(now);
  beat_if_due(now);
}

void AgentMachine::beat_if_due(TimePoint now) {
  if (!contact_ || !contact_->beat_due || now < *contact_->beat_due) return;
  beat(now);
  tell_progress(now);
}

void AgentMachine::beat(TimePoint now) {
  tell(Beat{.clock_us = microseconds(now),
            .echo_us = contact_->its_clock_us,
            .round = voter_.proposed.version.round,
            .epoch = voter_.proposed.version.epoch,
            .revision = voter_.proposed.version.revision});
  contact_->beat_due = now + beat_interval(rules_);
  contact_->echoed = contact_->its_clock_heard;
}

void AgentMachine::check_silence(TimePoint now) {
  const auto silence = silence_ends();
  if (!silence || now < *silence) return;
  if (contact_->voting_until) return give_up_candidate(now);
  if (!lease_ends() && now - *silence > rules_.heartbeat_timeout / 2) {
    contact_->last_heard =
        now;  // this process slept itself (Ctrl-Z, a frozen machine), and heard nobody
    return;
  }
  actions_.push_back(Disconnect{});
  lose_coordinator(Loss::kSilent,
                   "silent for " + std::to_string(rules_.heartbeat_timeout.count()) + " ms", now);
}

bool AgentMachine::asked_for_checkpoint() const {
  return grace_ && grace_->what == Grace::For::kCheckpoint;
}

void AgentMachine::end_grace(TimePoint now) {
  if (state_ != State::kStopping) return;
  if (asked_for_checkpoint()) {
    actions_.push_back(Warn{"no checkpoint within the time that was left for it: stopping " +
                            std::to_string(alive_) + " workers"});
    return stop(SIGTERM, now);
  }
  if (grace_->what != Grace::For::kSigkill) return kill(now);
  actions_.push_back(Warn{std::to_string(alive_) + " workers are still there " +
                          std::to_string(kKillTimeout.count() / 1000) +
                          " s after SIGKILL: the kernel cannot end them (a hung file system or "
                          "driver)"});
  sweep();
}

void AgentMachine::kill(TimePoint now) {
  actions_.push_back(SignalWorkers{SIGKILL});
  grace_ = Grace{Grace::For::kSigkill, now + kKillTimeout};
}

}  // namespace ddprun
