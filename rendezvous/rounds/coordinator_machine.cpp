#include "rendezvous/rounds/coordinator_machine.hpp"

#include <algorithm>
#include <utility>

#include "base/match.hpp"
#include "base/number_text.hpp"
#include "rendezvous/messages/round_messages.hpp"
#include "rendezvous/rounds/coordinator_events.hpp"
#include "rendezvous/rounds/in_place.hpp"
#include "rendezvous/rounds/membership.hpp"
#include "rendezvous/rounds/round_nodes.hpp"
#include "rendezvous/rounds/status_of.hpp"

namespace ddprun {

CoordinatorMachine::CoordinatorMachine(CoordinatorRules rules, TimePoint now)
    : rules_{std::move(rules)},
      leadership_{make_leadership(rules_)},
      members_{rules_, now},
      failures_{rules_, job_},
      history_{rules_.terms.has_one_node() ? NodePolicy{} : rules_.terms.node_policy},
      observers_{rules_, now},
      in_place_{members_.nodes(), rules_, job_, out_},
      rounds_{{rules_, job_, members_.nodes(), *leadership_, failures_, history_, observers_,
               in_place_, checkpoints_, out_}} {
  if (leadership_->leads()) rounds_.gather(now);
}

std::vector<CoordinatorAction> CoordinatorMachine::step(const CoordinatorEvent& event,
                                                        TimePoint now) {
  now_ = now;
  rounds_.postpone(members_.forgive_own_sleep(now));
  if (leadership_->has_lost_quorum(now)) rounds_.stop_at_once(now);  // before a word can renew it
  match(
      event, [&](const FromPeer& e) { receive(e); },
      [&](const PeerLost& e) {
        if (Node* const node = members_.nodes().with_peer(e.peer)) disconnected(*node, e.reason);
      },
      [&](const Probed& e) {
        Node* const node = members_.nodes().find(e.node);
        if (node != nullptr && node->away && e.refused) lose(*node, std::string{*node->away}, now);
      },
      [&](const StoreGone& e) {
        if (rounds_.runs(e.round))
          rounds_.stop({"the server cannot open the port of the store again: " + e.reason}, now);
      },
      [&](const NodesRecalled& e) {
        for (Node* const node : excused_by(e, history_, members_.nodes(), now)) welcome(*node);
      },
      [](const Tick&) {}, [&](const auto& e) { lead(e); });
  while (Node* const node = members_.silent(now))  // no Tick comes between the beats of many nodes
    lose(*node, "silent for " + seconds_text(rules_.terms.heartbeat_timeout), node->last_heard());
  for (const NodeId& node : rounds_.unstopped(now))
    lose(*members_.nodes().find(node), "it has not stopped its workers in time", now);
  if (in_place_.end_wait(now))
    for (Node* const node : nodes_that_wait(members_.nodes())) welcome(*node);
  if (rounds_.runs()) checkpoints_.tick(now);
  advance();
  lead(StepDone{rounds_.view()});
  look_for_hangs();
  if (observers_.owes_dump(rounds_.runs(), now))
    observers_.answer_dump(dump_without_workers(rounds_, job_.counters, now), members_.nodes(),
                           out_, now);
  observers_.tell_restarts(members_.nodes(), out_, now);
  return out_.take(in_place_.may_stay());
}

std::optional<TimePoint> CoordinatorMachine::next_tick() const {
  if (ended()) return std::nullopt;
  std::optional<TimePoint> next = members_.next_due();
  for (const auto due : {rounds_.next_due(now_), ending_.next_due(), leadership_->next_tick(),
                         in_place_.next_due(), observers_.next_due(rounds_.runs()),
                         rounds_.runs() ? checkpoints_.next_due() : std::nullopt})
    if (due) next = next ? std::min(*next, *due) : due;
  return next;
}

// --- nodes come and go ---

void CoordinatorMachine::receive(const FromPeer& event) {
  const auto& [peer, message, address] = event;
  Node* const known = members_.nodes().with_peer(peer);
  const auto* const joining = std::get_if<Join>(&message);
  if (known == nullptr && joining != nullptr) return join(peer, *joining, address);
  if (known == nullptr) return;  // it was lost while this message was on its way
  Node& node = *known;
  Roster& nodes = members_.nodes();
  for (const auto& [other, reason] : members_.hear(node, now_)) {
    Node& refused = *members_.nodes().find(other);
    out_.send(refused.peer(), Refused{reason});
    lose(refused, reason, now_);
  }
  match(
      message, [](const Join&) {}, [&](const Beat& m) { answer(node, m); },
      [&](const WorkerFailed& m) { failed(node, m); },
      [&](const WorkersFinished& m) { rounds_.workers_finished(node, m); },
      [&](const WorkersStopped& m) {
        node.join.witness ? lead(WitnessAnswered{node.id()}) : rounds_.workers_stopped(node, m);
      },
      [&](const WorkersStarted& m) {
        if (m.round != job_.counters.round) return;
        lead(VoterAware{node.id()});
        if (node.seats.round() == m.round) observers_.started(now_);
      },
      [&](const WorkersStay& m) {
        if (rounds_.runs(m.round)) members_.nodes().let_stay(node, m.stay);
        if (in_place_.may_stay())  // it may be lost before their next beat
          out_.send_to_members(members_.nodes(), leadership_->answer(now_));
      },
      [&](const Prepared&) { node.seats.end_preparation() ? welcome(node) : void(); },
      [&](const Holding& m) { in_place_.at_step().held(node, m); },
      [&](const Preempt& m) { preempt(node, m); },
      [&](const Progress& m) {
        if (m.round != job_.counters.round || node.seats.round() != m.round) return;
        for (const RankProgress& rank : m.ranks) failures_.reached(rank.step);
        observers_.progressed(node, m, nodes, now_);
      },
      [&](const Arrivals& m) { observers_.arrived(node, m, nodes, out_, now_); },
      [&](const Inspected& m) { observers_.inspected(node.id(), m); },
      [&](const Debugging& m) { observers_.debugging(node, m); },
      [&](const HeldCheckpoints& m) { checkpoints_.holds(node.id(), m); },
      [&](const CheckpointSaid& m) { checkpoints_.said(node.id(), m, now_); },
      [&](const AskDump& m) { observers_.ask_dump(node, m, rounds_.view(), nodes, out_, now_); },
      [&](const WorkersEnded& m) { failures_.ended(node.id(), m); },
      [&](const Vote& m) {
        lead(VoterVoted{node.id(), m});
      },
      [&](const EndAcknowledged&) { ending_.acknowledge(node); },
      [&](const FinalStatus& m) {
        node.final_status = m.end;
        if (rounds_.state() == Rounds::State::kGathering)
          adopt_final_status(job_, members_.nodes(), *leadership_);
      },
      [&](const Leave& m) { lose(node, m.reason, now_, true); },
      [&](const Fitness& m) { is_fit_again(m, node, history_, nodes) ? welcome(node) : void(); },
      // Job answers the first, and Server the others where they come instead of a Join.
      [](const AskStatus&) {}, [](const Identify&) {}, [](const InviteWitness&) {});
}

void CoordinatorMachine::join(PeerId peer, const Join& join, const std::string& address) {
  const auto refuse = [&](const std::string& reason) {
    out_.send(peer, Refused{reason});
    out_.drop(peer, reason);
  };
  if (ending_.is_over()) {
    const bool has_missed_end = join.counters.round > 0 && !difference(rules_, join);
    if (!has_missed_end) return refuse("the job has already ended");
    if (!ending_.is_complete()) return hold(peer, join, address);
    out_.send(peer, *job_.verdict);
    return out_.drop(peer, "the job has ended");
  }
  if (const auto reason = members_.refusal_of(join)) return refuse(*reason);
  if (const auto redirect = leadership_->redirect(join))
    return out_.send_away(peer, *redirect, "the coordinator is at " + redirect->coordinator);
  if (Node* const node = members_.nodes().find(join.node)) {
    node->address = address;
    return come_back(*node, peer, join);
  }
  if (join.voter.running > 0) return take_back(peer, join, address);
  Node& node = members_.add(peer, join, address, now_);
  observers_.came(node);
  lead(voter_joined(node, false));
}

/// The agent has connected again, before its old connection was found to be dead.
/// It has stopped its workers, unless it says otherwise. It keeps its rank and its place among
/// those that wait.
void CoordinatorMachine::come_back(Node& node, PeerId peer, const Join& join) {
  const bool runs = join.voter.running > 0;
  const bool resumes = runs && outlives(node, *leadership_) && !ending_.is_over() &&
                       join.voter.running == job_.counters.round &&
                       join.voter.promised <= leadership_->epoch();
  if (runs && !resumes)
    return out_.send_away(peer, {"", leadership_->epoch()}, "its workers are of another round");
  out_.drop(node.peer(), "its agent has connected again");
  members_.nodes().reconnect(node, peer, join, now_);
  checkpoints_.came_back(node.id(), now_);
  node.seats.come_back(resumes);
  node.away.reset();
  lead(voter_joined(node, resumes));
  if (!resumes) return;
  greet(node, true);
  if (node.phase() == Phase::kStopping)
    out_.send(peer, rounds_.stop_order("the round is being stopped"));
}

/// A node that comes while the end is held stays: the coordinator in its process would go with it.
void CoordinatorMachine::hold(PeerId peer, const Join& join, const std::string& address) {
  Node* node = members_.nodes().find(join.node);
  if (node == nullptr) {
    node = &members_.add(peer, join, address, now_);
  } else {
    out_.drop(node->peer(), "its agent has connected again");
    members_.nodes().reconnect(*node, peer, join, now_);
  }
  greet(*node, false);  // else it would not beat, and take this coordinator for silent
  ending_.tell(*node, *job_.verdict, out_);
}

/// The node has workers of a round that this coordinator knows nothing of. Where it was started
/// again, that round may go on.
void CoordinatorMachine::take_back(PeerId peer, const Join& join, const std::string& address) {
  RoundRecovery* const recovery = leadership_->recovery();
  const HostedAssignment& place = join.voter.assignment;
  const bool in_time = recovery != nullptr && !job_.verdict &&
                       recovery->fits(join, rules_.terms.nodes_max, now_) &&
                       members_.nodes().with_wanted_rank(join.node_rank) == nullptr;
  const bool is_first = in_time && !recovery->begun() &&
                        rounds_.state() == Rounds::State::kGathering && job_.counters.round == 0 &&
                        !members_.nodes().knows_more_than(join);
  const bool belongs = in_time && recovery->begun() && rounds_.runs() &&
                       join.counters.attempt == job_.counters.attempt;
  if (!is_first && !belongs)
    return out_.send_away(peer, {"", leadership_->epoch()}, "its workers are of another round");
  if (is_first) {
    recovery->begin(place);
    rounds_.recover(place, join.counters.attempt, now_);
  }
  Node& node = members_.add(peer, join, address, now_);
  node.seats.take_back(place);
  members_.nodes().set_phase(node, Phase::kRunning);
  observers_.came(node);
  failures_.seat(node);
  recovery->take(place.group_rank);
  lead(voter_joined(node, true));
  greet(node, true);
  if (recovery->absent() > 0) return;
  for (Node* const other : nodes_that_wait(members_.nodes())) welcome(*other);
}

/// A node that joins hears which configuration is committed, too: it may have missed it.
void CoordinatorMachine::greet(const Node& node, bool resumed) {
  if (resumed) observers_.came_back(node.id());
  out_.send(node.peer(),
            Joined{.heartbeat_timeout_ms = rules_.terms.heartbeat_timeout.count(),
                   .clock_us = microseconds(now_),
                   .epoch = leadership_->epoch(),
                   .resumed = resumed,
                   .keeps_workers = leadership_->outlives(node.id()) == Outlives::kForLease});
  if (leadership_->committed().voters > 0) out_.send(node.peer(), leadership_->answer(now_));
}

void CoordinatorMachine::admit(const AdmitVoter& admitted) {
  Node* const node = members_.nodes().find(admitted.node);
  if (node == nullptr) return;
  const Phase before = node->phase();
  job_.reach(admitted.counters);
  greet(*node, false);
  if (before == Phase::kContending) return;
  if (node->join.witness) return members_.nodes().set_phase(*node, Phase::kWitnessing);
  members_.nodes().set_phase(*node, Phase::kReady);
  history_.judge(members_.nodes(), *node);
  node->seats.park(node->join.parked);
  RoundRecovery* const recovery = leadership_->recovery();
  if (recovery != nullptr && recovery->was_in_round(node->join.voter.assignment)) {
    recovery->take(node->join.voter.assignment.group_rank);
    if (rounds_.runs())
      return rounds_.stop(
          {"node " + node->join.host + " has stopped its workers while the server was away"}, now_);
  }
  const bool was_in_round = before != Phase::kReady && before != Phase::kVoting;
  if (!was_in_round) return welcome(*node);
  if (rounds_.runs()) rounds_.stop({"node " + node->join.host + " joined again"}, now_);
}

/// A node that is ready makes a new round if there is a place for it; else it is a spare. If the
/// workers of the round can stay, its own are started first.
void CoordinatorMachine::welcome(Node& node) {
  if (!rounds_.runs()) return;
  if (node.is_in_round()) return in_place_.fill_seats_of(node);
  if (const RoundRecovery* const recovery = leadership_->recovery();
      recovery != nullptr && recovery->absent() > 0)
    return;  // others are on their way
  if (nodes_in_round(members_.nodes()) >= rules_.terms.nodes_max || !node.objection().empty())
    return out_.send(node.peer(), rounds_.spare(node));
  if (!in_place_.waits_to_join(node, now_) && !in_place_.prepare(node, rounds_.spare(node)))
    rounds_.stop({.reason = "node " + node.join.host + " joined", .nobody_is_lost = true}, now_);
}

/// A node whose connection broke comes back, unless its agent is dead, and its workers run on
/// meanwhile. Whether an agent that cannot be probed is dead is unknown.
void CoordinatorMachine::disconnected(Node& node, const std::string& reason) {
  if (ending_.is_over() || !outlives(node, *leadership_)) return lose(node, reason, now_);
  node.away = reason;
  in_place_.at_step().broken();
  lead(VoterAway{node.id()});
  out_.add(Probe{node.id(), standby_endpoint(node)});
}

void CoordinatorMachine::lose(Node& node, const std::string& reason, TimePoint since,
                              bool in_order) {
  const Phase phase = node.phase();
  if (in_order) observers_.goes(node, out_, now_);
  in_order ? ending_.acknowledge(node) : ending_.lose(node);
  if (phase == Phase::kRunning || phase == Phase::kStopping)
    failures_.lost(node.id(), reason, since, in_order);
  if (!node.join.witness && phase != Phase::kContending)
    last_loss_ = loss_text(node, members_.nodes(), reason);
  observers_.lost(node, reason, !ending_.is_over(), rounds_.runs(), now_);
  out_.drop(node.peer(), reason);
  const NodeId id = node.id();
  Node* const heir = members_.nodes().remove(node);
  checkpoints_.lost(id, now_);
  if (phase == Phase::kStopping) in_place_.at_step().broken();
  lead(VoterLeft{id, in_order});
  if (rounds_.runs() && phase == Phase::kRunning)
    rounds_.stop({last_loss_, std::max(now_ - since, Clock::duration{0})}, now_);
  if (heir == nullptr) return;
  lead(BecameVoter{heir->id()});
  members_.nodes().set_phase(*heir, Phase::kReady);
  history_.judge(members_.nodes(), *heir);
  welcome(*heir);
}

// --- what they say ---

void CoordinatorMachine::answer(Node& node, const Beat& beat) {
  observers_.heard(node.id(), beat);
  lead(VoterBeat{node.id(), beat});
  Beat answer = leadership_->answer(now_);
  answer.echo_us = beat.clock_us;
  if (rounds_.state() != Rounds::State::kGathering) return out_.send(node.peer(), answer);
  Waiting waiting = rounds_.waiting(now_);
  waiting.echo_us = answer.echo_us;
  waiting.lease_ms = answer.lease_ms;
  out_.send(node.peer(), waiting);
}

void CoordinatorMachine::failed(Node& node, const WorkerFailed& report) {
  if (!rounds_.runs(report.round) || node.phase() != Phase::kRunning)
    return failures_.failed_late(node.id(), report);
  const auto ask_for_missing = [&](GaveUp where) {
    const auto question =
        observers_.watch().ask_for_missing(report.round, report.failure.rank, where, now_);
    if (question) out_.send_to_members(members_.nodes(), *question);
    return question.has_value();
  };
  if (const auto stop = failures_.failed(node, report, now_, ask_for_missing))
    rounds_.stop(*stop, now_);
}

/// Ends the job after a checkpoint. Every node hears from the scheduler; the first report is
/// enough. A spare cannot end the job: its report counts from when it becomes a member.
void CoordinatorMachine::preempt(Node& node, const Preempt& report) {
  if (ending_.is_over() || (job_.verdict && !may_be_schedulers_doing(*job_.verdict))) return;
  if (!rounds_.is_member(node)) {
    node.announced = report;
    return;
  }
  job_.verdict = EndJob{EndJob::Outcome::kPreempted, job_.counters.attempt, report.reason, {}};
  if (rounds_.runs()) rounds_.stop({report.reason}, now_, report.checkpoint_ms);
}

// --- what follows ---

void CoordinatorMachine::lead(const LeadershipEvent& event) {
  const auto to_node = [&](const NodeId& id, const auto& act) {
    if (Node* const node = members_.nodes().find(id)) act(*node);
  };
  for (const LeadershipAction& action : leadership_->step(event, now_))
    match(
        action,
        [&](const TellVoter& a) {
          to_node(a.node, [&](const Node& node) { out_.send(node.peer(), a.message); });
        },
        [&](const AdmitVoter& a) { admit(a); },
        [&](const AwaitVote& a) {
          to_node(a.node, [&](Node& node) { members_.nodes().set_phase(node, Phase::kVoting); });
        },
        [&](const DropWitness& a) {
          to_node(a.node, [&](Node& node) { lose(node, a.reason, now_); });
        },
        [&](const TakeOver& a) { take_over(a); }, [&](const StepDown& a) { step_down(a.leader); },
        [&](const auto& a) { out_.add(a); });
}

void CoordinatorMachine::take_over(const TakeOver& how) {
  job_.reach(how.counters);
  if (how.verdict) job_.verdict = how.verdict;
  rounds_.gather(now_);
  adopt_final_status(job_, members_.nodes(), *leadership_);
}

/// Somebody else coordinates the job: all nodes go there.
void CoordinatorMachine::step_down(const Leader& leader) {
  Roster& nodes = members_.nodes();
  nodes.for_each([&](Node& node) {
    ending_.acknowledge(node);
    out_.send_away(node.peer(), {leader.coordinator, leader.epoch},
                   "the coordinator is at " + leader.coordinator);
  });
  nodes.clear();
  rounds_.stand_by();
  checkpoints_.stand_by();
  job_.verdict.reset();
  ending_ = {};
}

void CoordinatorMachine::advance() {
  if (ending_.is_over())
    return ending_.advance(leadership_->remembers_end(), members_.nodes(), out_, now_);
  if (const RoundRecovery* const recovery = leadership_->recovery();
      recovery != nullptr && rounds_.runs() && recovery->gives_up(now_))
    rounds_.stop({std::to_string(recovery->absent()) + " of " + std::to_string(recovery->nodes()) +
                  " nodes have not come back after the server was started again"},
                 now_);
  if (auto verdict = rounds_.advance(now_))
    return checkpoints_.settle() ? end(std::move(*verdict)) : void();
  if (const auto wanted = rounds_.wanted(now_)) {
    lead(*wanted);
    if (leadership_->may(Permission::kBeginRound, now_))
      if (auto verdict = rounds_.seal(now_)) return end(std::move(*verdict));
  }
  if (rounds_.has_waited_in_vain(now_)) end(rounds_.timed_out(last_loss_));
}

void CoordinatorMachine::look_for_hangs() {
  if (!rounds_.runs()) return;
  const auto found = observers_.look(job_.counters.round, members_.nodes(), out_, now_);
  if (!found) return;
  if (const auto stop = failures_.hung(*found)) rounds_.stop(*stop, now_);
}

/// That nodes have not come in time may be known on one side of a cut only, so that end is not
/// held.
void CoordinatorMachine::end(EndJob verdict) {
  observers_.ended(members_.nodes(), out_, now_);
  if (const auto cause = failures_.explain(verdict))
    out_.send_to_nodes(members_.nodes(), VerdictFound{*cause});
  const bool held = leadership_->holds_ends() && verdict.outcome != EndJob::Outcome::kTooFewNodes;
  ending_.begin(verdict, held, leadership_->all_follow(), members_.nodes(), out_, now_);
  rounds_.end();
  lead(JobEnded{verdict});
  job_.verdict = std::move(verdict);
}

JobStatus CoordinatorMachine::status(TimePoint now, std::int64_t now_unix_ms) const {
  const JobCounters& counters = job_.counters;
  const bool over = ending_.is_over();
  JobStatus status{.run_id = rules_.run_id,
                   .state = over ? JobStatus::State::kEnded : state_of(rounds_.state()),
                   .why = over ? reason_of(*job_.verdict) : observers_.job_history().reason(),
                   .round = counters.round,
                   .attempt = counters.attempt,
                   .restarts_left = failures_.budget().left(counters.attempt, now),
                   .nodes_min = leadership_->nodes_needed(rules_.terms.nodes_min),
                   .nodes_max = rules_.terms.nodes_max,
                   .now_unix_ms = now_unix_ms};
  if (over) status.outcome = job_.verdict->outcome;
  status.summary.restarts_in_ms = rounds_.waiting(now).pause_ms;
  tell_nodes(status, members_.nodes(), observers_.node_news(), rounds_.runs(),
             leadership_->extra_voter(), now);
  observers_.job_history().tell(status, now);
  if (over || rounds_.state() != Rounds::State::kGathering)
    tell_ranks(status, rounds_.state() == Rounds::State::kStopping);
  observers_.tell(status, members_.nodes(), now);
  mark_troubles(status, observers_.watch().hang(), job_.verdict);
  if (over) status.verdict = failures_.cause();
  summarize(status);
  return status;
}

}  // namespace ddprun
