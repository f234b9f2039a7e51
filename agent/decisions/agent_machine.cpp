#include "agent/decisions/agent_machine.hpp"

#include <algorithm>
#include <csignal>
#include <utility>

#include "base/match.hpp"
#include "base/number_text.hpp"
#include "rendezvous/leadership/lease_times.hpp"
#include "rendezvous/messages/round_messages.hpp"

namespace ddprun {

using std::chrono::milliseconds;
using State = WorkerRound::State;

namespace {

/// The earlier of two times, one of which may never come.
std::optional<TimePoint> earlier(std::optional<TimePoint> a, std::optional<TimePoint> b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

}  // namespace

std::vector<AgentAction> AgentMachine::step(const AgentEvent& event, TimePoint now) {
  if (exited_) return {};
  match(
      event,  //
      [&](const AgentBegins&) {
        if (!self_check_.begin(SelfCheck::For::kJoin)) finish(search_.begin(now), now);
      },
      [&](const Ordered& e) {
        if (!agent_.contact) return;  // read from a connection that has been given up meanwhile
        agent_.contact->heard(now);
        obey(e.message, now);
      },
      [&](const WorkerExited& e) {
        if (!e.how.status.ok() || workers_.alive() == 1) progress_.tell(now);
        workers_.exited(e, now);
      },
      [&](const WorkerSaid& e) { workers_.said(e, now); }, [&](const TreeGone&) { swept(now); },
      [&](const WorkersRun&) {
        if (workers_.state() == State::kRunning) agent_.tell(WorkersStarted{workers_.number()});
      },
      [&](const Connected& e) { search_.connected(e.place, e.asked, now); },
      [&](const CoordinatorLost& e) { lose(Loss::kClosed, e.reason, now); },
      [&](const CoordinatorUnreachable& e) { finish(search_.unreachable(e, now), now); },
      [&](const StopSignal& e) { request_stop(e.signal, now); },
      [&](const EndAnnounced& e) { announce_end(e.signal, now); },
      [&](const PassOn& e) {
        if (workers_.state() == State::kRunning || workers_.state() == State::kStopping)
          agent_.act(SignalWorkers{e.signal, false});
      },
      [&](const WorkerProgressed& e) {
        if (!is_over(workers_)) progress_.note(e.progress, now);
      },
      [&](const WorkerArrived& e) {
        if (!is_over(workers_)) progress_.arrived(e);
      },
      [&](const DebuggersChanged& e) { debuggers_.changed(e); },
      [&](const WorkersInspected& e) { tell_inspected(e); },
      [&](const Checked& e) { checked(e, now); }, [&](const Alarm&) { alarm(now); });
  tell_standby();
  return std::exchange(agent_.actions, {});
}

void AgentMachine::obey(const CoordinatorMessage& order, TimePoint now) {
  note(order);
  match(
      order,                                     //
      [&](const Joined& m) { joined(m, now); },  //
      [&](const Candidate&) {
        if (agent_.held_end) agent_.tell(FinalStatus{*agent_.held_end});
        if (!agent_.contact->voting_until())
          agent_.contact->await_leader(now + search_.patience_with_candidate());
      },
      [&](const RequestVote& m) {
        if (!agent_.follower.promise(m.epoch, now)) return;
        agent_.contact->let_count();
        agent_.tell(Vote{m.epoch, m.clock_us});
      },
      [&](const Redirect& m) { finish(search_.redirected(m, now), now); },  //
      [&](const Beat& m) {
        answered(m.clock_us, m.echo_us, m.lease_ms, now);
        agent_.follower.hear(m);
        agent_.may_stay = m.keep;
      },
      [&](const Waiting& m) { answered(m.clock_us, m.echo_us, m.lease_ms, now); },
      [](const Spare&) {},  // waits, as before
      [&](const Prepare& m) {
        const bool has_leader = !agent_.contact->voting_until();
        if (has_leader && !agent_.end && !agent_.held_end) workers_.prepare(m.place, now);
      },
      [](const Identity&) {},                           // not asked for
      [](const HangFound&) {}, [](const HangOver&) {},  // shown to the user
      [&](const RanksDebugged& m) { debuggers_.heard(m); }, [](const StragglerFound&) {},
      [](const StragglerOver&) {}, [](const VerdictFound&) {},        // the agent has taken it
      [](const Restarted&) {},                                        // as above
      [&](const JobTimes&) { farewell_ends_ ? exit(now) : void(); },  // the answer to Leave
      [](const StatusPart&) {}, [](const DumpPart&) {},  // Agent hands them to the callers
      [](const CheckpointOrder&) {},                     // as above
      [&](const Inspect& m) {
        if (m.round == workers_.number() && workers_.state() == State::kRunning)
          agent_.act(InspectWorkers{m});
      },
      [&](const StartRound& m) { start(m, now); },
      [&](const Reconfigure&) { agent_.beat(now); },  // which tells that this node knows of it
      [&](const StopRound& m) { stop_round(m, now); },
      [&](const LeaveAfter& m) {
        if (m.round == workers_.number() && asked(workers_) == Asked::kLastStep)
          agent_.act(AskToLeaveAfter{m});
      },
      [&](const EndJob& m) {
        hold_end(m, now);
        if (!m.held) exit_as_told(now);
      },
      [&](const Dismiss&) { exit_as_told(now); }, [&](const Refused& m) { refused(m, now); });
}

/// Remembers how far the job is, even if the order itself comes too late to be obeyed: a
/// coordinator that is restarted has this from the agents only.
void AgentMachine::note(const CoordinatorMessage& order) {
  const auto hear = [&](const auto& m) {
    JobCounters& known = agent_.counters;
    known = {std::max(known.round, m.round), std::max(known.attempt, m.attempt)};
  };
  const auto hear_members = [&](const auto& m) {
    hear(m);
    agent_.follower.hear(m);
    if (m.epoch > 0) agent_.successors = m.successors;
  };
  if (const auto* start = std::get_if<StartRound>(&order)) {
    hear_members(*start);
    if (start->epoch > 0) agent_.extra_voter.clear();
    if (agent_.keeps_workers) agent_.follower.note_assignment(*start);
    if (agent_.keeps_workers || start->epoch > 0)
      agent_.contact->grant(start->lease_ms, agent_.rules.terms.heartbeat_timeout);
  }
  if (const auto* stop = std::get_if<StopRound>(&order)) hear(*stop);
  if (const auto* spare = std::get_if<Spare>(&order)) hear_members(*spare);
  if (const auto* prepare = std::get_if<Prepare>(&order)) hear_members(prepare->waits);
  if (const auto* voters = std::get_if<Reconfigure>(&order)) {
    agent_.follower.hear(*voters);
    agent_.extra_voter = voters->witnessed ? "the witness" : voters->spare_votes ? "a spare" : "";
  }
}

/// Until the coordinator counts this node, it expects no heartbeat of it.
void AgentMachine::joined(const Joined& answer, TimePoint now) {
  const bool followed = agent_.follower.knows_a_round();
  const bool forgotten =
      search_.aim() == CoordinatorSearch::Aim::kResume && !followed && !answer.resumed;
  if (forgotten || !agent_.follower.accepts(answer))
    return finish(search_.give_up_candidate(now), now);
  const bool resumed = search_.joined(answer);
  agent_.rules.terms.heartbeat_timeout = milliseconds{answer.heartbeat_timeout_ms};
  agent_.follower.hear_clock(answer.clock_us, now);
  agent_.contact->joined(answer.clock_us, now + agent_.beat_interval(), now);
  if (announced_) tell_of_end(now);  // the last connection may have taken it along
  self_check_.joined();
  if (resumed) {
    // It is in its round as before, for as long as its lease was, until an answer to a beat makes
    // that longer.
    if (!followed) agent_.warn("the coordinator is there again: the workers go on");
    if (workers_.dead_by()) agent_.contact->keep_lease(*workers_.dead_by());
    workers_.set_dead_by(std::nullopt);
    workers_.tell_again();
    debuggers_.tell_again();
    if (!followed) progress_.tell_again();
  }
  // The coordinator is to know that it is heard, and the lease is to grow at once.
  if (answer.epoch > 0 || answer.keeps_workers) agent_.beat(now);
}

/// The lease goes on while the job waits for nodes, too: no worker lives on it then, but the nodes
/// that wait at a leader without a majority give it up.
void AgentMachine::answered(std::int64_t clock_us, std::int64_t echo_us, std::int64_t lease_ms,
                            TimePoint now) {
  agent_.follower.hear_clock(clock_us, now);
  agent_.contact->hear_clock(clock_us, echo_us, now);
  if (echo_us > 0) agent_.contact->grant(lease_ms, agent_.rules.terms.heartbeat_timeout);
}

void AgentMachine::start(const StartRound& order, TimePoint now) {
  const bool is_stopping = search_.aim() == CoordinatorSearch::Aim::kStopWorkers;
  const bool has_leader = !agent_.contact->voting_until();
  if (!has_leader || !is_over(workers_) || agent_.end || is_stopping) return;
  const auto lease = agent_.contact->lease_ends();
  if (lease && now >= *lease) {  // others may have begun a round
    agent_.act(Disconnect{});
    return lose(Loss::kSilent, "its order came too late", now);
  }
  agent_.held_end.reset();
  agent_.may_stay = false;
  search_.round_begins();
  self_check_.forget();
  round_follows_ = true;
  progress_.begin_round(order.round, order.world_size);
  workers_.start(order);
}

void AgentMachine::stop_round(const StopRound& order, TimePoint now) {
  // They may have left an older round than the others.
  if (order.discard) {
    round_follows_ = false;  // a look was taken when they left it
    return is_over(workers_) ? workers_.stop(SIGTERM, now) : void();
  }
  if (order.round != workers_.number()) return;
  round_follows_ = !order.last;
  if (order.at_once) return workers_.stop_at_once(now);
  if (workers_.state() == State::kRunning && order.keep && order.gently) return workers_.hold(now);
  if (workers_.state() != State::kRunning && !holds(workers_)) return;
  if (order.checkpoint_ms > 0)
    workers_.stop_after_checkpoint(milliseconds{order.checkpoint_ms}, now);
  else if (order.keep)
    workers_.leave(seats_in(order.evict, agent_.rules.workers), now);
  else
    workers_.stop(SIGTERM, now);
}

void AgentMachine::refused(const Refused& answer, TimePoint now) {
  if (search_.looks_on_after(answer)) return finish(search_.give_up_candidate(now), now);
  exit_with({AgentEnd::Why::kRefused, {}, 0, answer.reason}, SIGTERM, now);
}

void AgentMachine::lose(Loss loss, const std::string& reason, TimePoint now) {
  if (farewell_ends_) return exit(now);
  if (agent_.contact) finish(search_.lost(loss, reason, now), now);
}

// --- signals ---

void AgentMachine::request_stop(int signal, TimePoint now) {
  if (stop_requests_.count > 0 && now - stop_requests_.last < kOneRequest) return;
  stop_requests_.last = now;
  if (farewell_ends_) return exit(now);
  switch (++stop_requests_.count) {
    case 1:
      return exit_with({AgentEnd::Why::kStopSignal, {}, signal, ""}, signal, now);
    case 2:
      return workers_.shorten_grace(kShortGrace, now);
    default:
      return workers_.shorten_grace(milliseconds{0}, now);
  }
}

/// The whole job has to end, so that it can go on later: the coordinator tells all nodes.
void AgentMachine::announce_end(int signal, TimePoint now) {
  const std::string reason = signal_name(signal) + " announces the end of this run";
  if (!agent_.contact && !search_.finds_successor())  // no other node ends with it
    return exit_with(
        {AgentEnd::Why::kJobEnded, {EndJob::Outcome::kPreempted, 0, reason, {}}, 0, ""}, SIGTERM,
        now);
  const bool again = announced_ && now - announced_->came >= kOneAnnouncement;
  if (again && signal == SIGTERM) return request_stop(signal, now);
  if (announced_) return;
  const AgentRules& rules = agent_.rules;
  const milliseconds time =
      signal == SIGTERM ? rules.preempt_timeout_after_sigterm : rules.preempt_timeout;
  announced_ = {now, now + time, reason};
  tell_of_end(now);  // or when it has joined again
}

void AgentMachine::tell_of_end(TimePoint now) {
  const auto left = std::chrono::duration_cast<milliseconds>(announced_->ends - now);
  agent_.tell(Preempt{announced_->reason, std::max(left, milliseconds{1}).count()});
}

// --- the end ---

void AgentMachine::swept(TimePoint now) {
  progress_.tell(now);
  workers_.swept();
  const bool looks_elsewhere = search_.aim() == CoordinatorSearch::Aim::kStopWorkers;
  const bool nobody_stays = agent_.end || agent_.held_end;
  if (nobody_stays && goes_on(workers_)) return workers_.stop(SIGTERM, now);
  if (agent_.end) return exit(now);
  if (looks_elsewhere) {
    self_check_.begin(SelfCheck::For::kWaiting);
    return finish(search_.workers_stopped(now), now);
  }
  if (agent_.held_end) return;
  if (!round_follows_ || !self_check_.begin(SelfCheck::For::kAnswer)) workers_.tell_stopped();
}

void AgentMachine::checked(const Checked& found, TimePoint now) {
  switch (self_check_.checked(found, now)) {
    case SelfCheck::For::kJoin:
      return finish(search_.begin(now), now);
    case SelfCheck::For::kAnswer:
      if (!agent_.held_end && is_over(workers_)) workers_.tell_stopped();
      return;
    case SelfCheck::For::kNothing:
    case SelfCheck::For::kWaiting:
      return;
  }
}

/// If the coordinator is lost now, the next one is informed how the job has ended.
void AgentMachine::hold_end(const EndJob& end, TimePoint now) {
  agent_.held_end = end;
  agent_.held_end->held = false;
  if (end.held) agent_.tell(EndAcknowledged{});
  if (goes_on(workers_)) workers_.stop(SIGTERM, now);
}

void AgentMachine::exit_as_told(TimePoint now) {
  if (agent_.held_end) exit_with({AgentEnd::Why::kJobEnded, *agent_.held_end, 0, ""}, SIGTERM, now);
}

void AgentMachine::finish(const CoordinatorSearch::End& end, TimePoint now) {
  if (end) exit_with(*end, SIGTERM, now);
}

void AgentMachine::exit_with(AgentEnd end, int signal, TimePoint now) {
  if (!agent_.end) agent_.end = std::move(end);  // users want to know the first reason
  if (goes_on(workers_)) workers_.stop(signal, now);
  if (workers_.state() == State::kIdle) exit(now);
}

/// Where the node has taken part, it hears with the answer where the time of the job has gone.
void AgentMachine::exit(TimePoint now) {
  const bool goes = agent_.end->why == AgentEnd::Why::kStopSignal && !farewell_ends_;
  if (goes) agent_.tell(Leave{"stopped by " + signal_name(agent_.end->signal)});
  if (goes && agent_.contact && workers_.number() > 0) {
    farewell_ends_ = now + kFarewell;
    return;
  }
  exited_ = true;
  tell_standby();
  agent_.act(Exit{*agent_.end});
}

// --- time ---

std::optional<TimePoint> AgentMachine::silence_ends() const {
  if (!agent_.contact || !agent_.rules.counts_silence) return std::nullopt;
  const Contact& contact = *agent_.contact;
  if (contact.voting_until()) return contact.voting_until();
  const milliseconds timeout = agent_.rules.terms.heartbeat_timeout;
  if (const auto lease = lease_ends(agent_, workers_)) {
    const milliseconds to_leave = agent_.may_stay ? kTimeToLeave.of(timeout) : milliseconds{0};
    return std::min(*lease - to_leave, contact.answered() + kLeaseStops.of(timeout));
  }
  return contact.last_heard() + timeout;
}

std::optional<TimePoint> AgentMachine::next_alarm() const {
  if (exited_) return std::nullopt;
  const auto beat_due = agent_.contact ? agent_.contact->beat_due() : std::nullopt;
  const auto grace_due = workers_.grace() ? std::optional{workers_.grace()->due()} : std::nullopt;
  return earlier(earlier(farewell_ends_, self_check_.due()),
                 earlier(grace_due, earlier(beat_due, silence_ends())));
}

void AgentMachine::alarm(TimePoint now) {
  if (farewell_ends_ && now >= *farewell_ends_) return exit(now);
  workers_.check_grace(now);
  check_silence(now);
  self_check_.look_again(now);
  if (!agent_.contact || !agent_.contact->beat_due() || now < *agent_.contact->beat_due()) return;
  agent_.beat(now);
  progress_.tell(now);
}

void AgentMachine::check_silence(TimePoint now) {
  const auto silence = silence_ends();
  if (!silence || now < *silence) return;
  if (agent_.contact->voting_until()) return finish(search_.give_up_candidate(now), now);
  if (!lease_ends(agent_, workers_) && now - *silence > agent_.rules.terms.heartbeat_timeout / 2)
    // This process itself slept (Ctrl-Z, a frozen machine), and read no message.
    return agent_.contact->heard(now);
  agent_.act(Disconnect{});
  lose(Loss::kSilent, "silent for " + seconds_text(agent_.rules.terms.heartbeat_timeout), now);
}

// --- what it tells ---

void AgentMachine::tell_inspected(const WorkersInspected& answer) {
  if (answer.groups.empty()) return agent_.tell(Inspected{answer.inspection, {}, true});
  for (const StackGroup& group : answer.groups)
    agent_.tell(Inspected{answer.inspection, group, &group == &answer.groups.back()});
}

/// What stands by in this process sends newcomers to the coordinator that this agent obeys.
void AgentMachine::tell_standby() {
  const auto& contact = agent_.contact;
  const VoterState& voter = agent_.follower.state();
  const bool obeys = !exited_ && contact && contact->counts() && contact->is_joined();
  const std::int64_t epoch = agent_.follower.knows_a_round() ? voter.epoch : 0;
  const bool knows_where = obeys && epoch > 0;
  const Leader leader{epoch, knows_where ? voter.leader : ""};
  if (leader == standby_) return;
  standby_ = leader;
  agent_.act(TellStandby{leader});
}

}  // namespace ddprun
