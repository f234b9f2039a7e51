#include "rendezvous/rounds/round_machine.hpp"

#include <algorithm>
#include <csignal>
#include <utility>

#include "base/match.hpp"
#include "rendezvous/rounds/agreement.hpp"
#include "rendezvous/rounds/seats.hpp"

namespace ddprun {

namespace {

/// Ticks come at least this often, although nobody may be silent, so that a longer gap between two
/// steps shows that the coordinator itself has slept.
std::chrono::milliseconds check_interval(const RoundRules& rules) {
  return std::max(rules.heartbeat_timeout / 10, std::chrono::milliseconds{1});
}

/// Whether the failure may be the scheduler's doing. Schedulers send their warning to every
/// process, and a worker that does not handle the signal may die of it before its agent reports the
/// warning.
bool may_be_schedulers_doing(const EndJob& verdict) {
  if (!verdict.failure) return false;
  const int signal = verdict.failure->status.signal;
  return signal == SIGTERM || signal == SIGUSR1 || signal == SIGUSR2;
}

}  // namespace

CoordinatorMachine::CoordinatorMachine(RoundRules rules, TimePoint now)
    : rules_{std::move(rules)},
      watch_{rules_.hang_timeout, rules_.on_hang},
      times_{now},
      chronicle_{now},
      gathering_since_{now},
      last_step_{now} {
  may_begin_job_ = rules_.begins_job;
  if (rules_.stands_by || may_begin_job_) state_ = State::kStandby;
  if (rules_.has_successors && coordinates()) epoch_ = 1;
}

std::vector<CoordinatorAction> CoordinatorMachine::step(const CoordinatorEvent& event,
                                                        TimePoint now) {
  forgive_after_own_sleep(now);
  check_authority(now);  // before anybody's word can renew it
  match(
      event,  //
      [&](const FromPeer& e) { receive(e, now); },
      [&](const PeerLost& e) {
        if (Node* const node = nodes_.with_peer(e.peer)) disconnected(*node, e.reason, now);
      },
      [&](const Probed& e) { knocked(e, now); }, [&](const HigherEpoch& e) { step_down(e); },
      [&](const AgentFollows& e) { leader_ = e.leader; },
      [&](const LeadersFound& e) { looked_around(e, now); }, [](const Tick&) {},
      [&](const StoreGone& e) { store_gone(e); }, [&](const Elected& e) { elected(e, now); },
      [&](const Held& e) { held_ = e; }, [&](const WorldBegun& e) { world_begun(e); },
      [&](const WorldGone&) { world_gone(); });
  lose_silent(now);  // on every step, because no Tick comes between the beats of many nodes
  lose_unstopped(now);
  give_up_absent(now);
  advance(now);
  change_voters(now);
  drop_idle_witness();
  look_for_hangs(now);
  answer_dumps(now);
  tell_restarts(now);
  return std::exchange(actions_, {});
}

std::optional<TimePoint> CoordinatorMachine::next_tick() const {
  if (state_ == State::kEnded) return std::nullopt;
  std::optional<TimePoint> due;
  const auto consider = [&](TimePoint t) { due = due ? std::min(*due, t) : t; };
  if (!nodes_.empty()) {
    consider(last_step_ + check_interval(rules_));
    if (!rules_.in_one_process)
      consider(nodes_.most_silent().last_heard() + rules_.heartbeat_timeout);
  }
  if (state_ == State::kGathering)
    consider(gathering_ends() > last_step_ ? gathering_ends() : gives_up_at());
  if (state_ == State::kRunning && watch_.next_look()) consider(*watch_.next_look());
  if (dump_.under_way()) consider(dump_.due());
  if (state_ == State::kRunning && awaits_cause_ && !awaits_cause_->asked)
    consider(awaits_cause_->until);
  if (state_ == State::kStopping) consider(stopping_ends_);
  if (state_ == State::kEnding) consider(ending_ends_);
  if (state_ == State::kGathering && elected_)
    for (const TimePoint t : {fences_end_, gathering_since_ + kPromisePatience,
                              last_came_ + kArrivalPause, gathering_since_ + kArrivalsMax})
      if (t > last_step_) consider(t);
  if (state_ == State::kGathering && passed_over_ && may_begin_due_ > last_step_)
    consider(may_begin_due_);
  if (times_.next_due()) consider(*times_.next_due());
  if (rules_.hosted && workers_of_before_end() > last_step_) consider(workers_of_before_end());
  return due;
}

void CoordinatorMachine::receive(const FromPeer& event, TimePoint now) {
  const auto& [peer, message, address] = event;
  Node* const known = nodes_.with_peer(peer);
  if (const auto* join = std::get_if<Join>(&message)) {
    // Job hangs up on one that has joined already.
    if (known == nullptr) admit(peer, *join, address, now);
    return;
  }
  if (known == nullptr) return;  // it was lost while this message was on its way
  Node& node = *known;
  nodes_.heard(node, now);
  refuse_contenders(node, now);
  match(
      message,             //
      [](const Join&) {},  // admitted above
      [&](const Beat& m) { answer_beat(node, m, now); },
      [](const Identify&) {},       // Server answers it where it comes instead of a Join
      [](const InviteWitness&) {},  // the same
      [&](const WorkerFailed& m) { worker_failed(node, m, now); },
      [&](const WorkersFinished& m) { workers_finished(node, m); },
      [&](const WorkersStopped& m) { workers_stopped(node, m); },
      [&](const WorkersStarted& m) { workers_started(node, m, now); },
      [&](const Preempt& m) { preempt(node, m); },  //
      [&](const Progress& m) { note_progress(node, m, now); },
      [&](const Inspected& m) {
        watch_.take(node.id(), m);
        dump_.take(node.id(), m);
      },
      [](const AskStatus&) {},  // Job answers it
      [&](const AskDump& m) { ask_dump(node, m, now); },
      [&](const WorkersEnded& m) { inquest_.ended(node.id(), m); },
      [&](const Vote& m) { promised(node, m, now); },
      [&](const EndAcknowledged&) { end_heard(node); },
      [&](const FinalStatus& m) { take_testament(node, m); },
      [&](const Leave& m) { leave(node, m, now); });
}

void CoordinatorMachine::answer_beat(Node& node, const Beat& beat, TimePoint now) {
  heard_of_round(node, {beat.epoch, beat.round, beat.revision});
  confirm(node, beat.echo_us, now);
  if (state_ != State::kGathering) {
    Beat answer = committed_beat(now);
    answer.echo_us = beat.clock_us;
    return send(node.peer(), answer);
  }
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(waiting_ends() - now);
  send(node.peer(), Waiting{.nodes = nodes_.count(Phase::kReady),
                            .nodes_min = nodes_needed(),
                            .nodes_max = rules_.nodes_max,
                            .left_ms = left.count(),
                            .clock_us = microseconds(now),
                            .echo_us = beat.clock_us});
}

void CoordinatorMachine::workers_finished(Node& node, const WorkersFinished& report) {
  if (report.round == round_ && node.phase() == Phase::kRunning)
    nodes_.set_phase(node, Phase::kFinished);
}

void CoordinatorMachine::workers_stopped(Node& node, const WorkersStopped& report) {
  if (node.join.witness)
    node.join.counters.attempt = std::max(node.join.counters.attempt, witness_told_);
  else if (report.round == round_ && node.phase() == Phase::kStopping)
    nodes_.set_phase(node, Phase::kReady);
}

/// Ends the job after a checkpoint. Every node hears from the scheduler; the first report is
/// enough. A spare cannot end the job: its report counts from when it becomes a member.
void CoordinatorMachine::preempt(Node& node, const Preempt& report) {
  if (is_over() || (verdict_ && !may_be_schedulers_doing(*verdict_))) return;
  if (!is_member(node)) {
    node.announced = report;
    return;
  }
  verdict_ = EndJob{EndJob::Outcome::kPreempted, attempt_, report.reason, {}};
  if (state_ == State::kRunning) stop_round(report.reason, report.checkpoint_ms);
}

/// Whether the node is in the round; while nodes gather, whether it would be in it.
bool CoordinatorMachine::is_member(const Node& node) {
  if (state_ != State::kGathering) return node.group_rank >= 0;
  return std::ranges::count(choose_members(nodes_, rules_.nodes_max), &node) > 0;
}

/// Goes on to the next state when its time has come.
void CoordinatorMachine::advance(TimePoint now) {
  if (state_ == State::kRunning && awaits_cause_ && has_awaited_cause(now))
    stop_because_of(awaits_cause_->failure);
  if (state_ == State::kRunning && nodes_.count(Phase::kRunning) == 0 && may_finish(now))
    return end({EndJob::Outcome::kFinished, attempt_, "", {}});
  if (state_ == State::kStopping && nodes_.count(Phase::kStopping) == 0) gather(now);
  if (state_ == State::kEnding && (unheard_ == 0 || now >= ending_ends_)) return dismiss();
  if (state_ != State::kGathering) return;
  if (verdict_ && may_end(now)) return end(*verdict_);
  time_last_call(now);
  if (ready_to_seal(now)) return seal();
  if (now >= gives_up_at()) end(timed_out());
}

void CoordinatorMachine::stop_round(const std::string& reason, std::int64_t checkpoint_ms,
                                    bool at_once) {
  state_ = State::kStopping;
  chronicle_.stopped(reason, last_step_, watch_.hang());
  if (watch_.hang()) inquest_.hung_before(*watch_.hang());
  watch_.end_round();
  awaits_cause_.reset();
  times_.stop_ordered(round_, reason, std::exchange(noticed_after_, {}), last_step_);
  std::int64_t longest_ms = 0;
  nodes_.for_each([&](Node& node) {
    if (node.phase() != Phase::kRunning && node.phase() != Phase::kFinished) return;
    nodes_.set_phase(node, Phase::kStopping);
    longest_ms = std::max(longest_ms, node.join.terms.shutdown_timeout_ms);
    send(node.peer(), StopRound{round_, reason, checkpoint_ms, next_attempt(), at_once});
  });
  const std::chrono::milliseconds time{checkpoint_ms + longest_ms};
  stopping_ends_ = last_step_ + time + kStoppingReserve;
}

void CoordinatorMachine::gather(TimePoint now) {
  state_ = State::kGathering;
  gathering_since_ = now;
  times_.stopped(now);
  if (auto found = inquest_.decide()) found_ = std::move(found);
}

/// The last call begins when MIN nodes are ready for the first round. When a node is lost so that
/// fewer are ready, the job waits for MIN again, and the next last call begins anew.
void CoordinatorMachine::time_last_call(TimePoint now) {
  if (nodes_.count(Phase::kReady) < rules_.nodes_min || round_ > 0)
    last_call_ends_.reset();
  else if (!last_call_ends_)
    last_call_ends_ = now + rules_.last_call_timeout;
}

/// A later round does not wait for more than MIN nodes, because those that are ready have work to
/// go on with.
bool CoordinatorMachine::ready_to_seal(TimePoint now) {
  const int ready = nodes_.count(Phase::kReady);
  if (ready < rules_.nodes_min || waits_for_voters(now)) return false;
  const bool enough = ready >= rules_.nodes_max || round_ > 0 || now >= gathering_ends();
  return enough && may_begin(now) && witness_knows_attempt();
}

/// When the waiting for nodes ends: with the last call there are enough, without it too few.
TimePoint CoordinatorMachine::gathering_ends() const {
  return last_call_ends_.value_or(gathering_since_ + rules_.join_timeout);
}

/// Until when nodes are told to wait. With enough of them only the workers of before are waited
/// for.
TimePoint CoordinatorMachine::waiting_ends() const {
  const int ready = nodes_.count(Phase::kReady);
  const bool enough = round_ > 0 && ready >= nodes_needed();
  if (workers_may_be_left(last_step_))
    return enough || ready >= rules_.nodes_max
               ? workers_of_before_end()
               : std::max(gathering_ends(), workers_of_before_end());
  return enough ? std::max(last_step_, fences_end_) : gathering_ends();
}

/// The referee may not answer for a while, when there are enough nodes; and workers that a server
/// of before has left may have to be waited for.
TimePoint CoordinatorMachine::gives_up_at() const {
  if (rules_.hosted) return std::max(gathering_ends(), workers_of_before_end());
  const bool waits = rules_.has_referee && last_call_ends_;
  return waits ? *last_call_ends_ + rules_.join_timeout : gathering_ends();
}

void CoordinatorMachine::seal() {
  const std::vector<Node*> members = choose_members(nodes_, rules_.nodes_max);
  if (auto verdict = go_on_from(members)) return end(std::move(*verdict));
  const std::vector<Node*> ranked = order_by_rank(members);
  authority_until_ = authority_ends();
  StartRound start{.round = ++round_,
                   .attempt = attempt_,
                   .group_world_size = static_cast<int>(ranked.size()),
                   .world_size = 0,
                   .master_addr = rules_.master_addr,
                   .master_port = rules_.master_port,
                   .epoch = epoch_,
                   .lease_ms = lease_ms(last_step_),
                   .committed = quorum_.committed};
  std::map<std::string, int> role_sizes;
  for (const Node* node : ranked) {
    start.world_size += node->join.workers;
    role_sizes[node->join.role] += node->join.workers;
  }
  if (rules_.has_successors) {
    start.awaited = awaited();
    note_round(ranked);
  }
  start.successors = successors(ranked);
  start.leader_is_member =
      std::ranges::any_of(ranked, [](const Node* node) { return node->join.voter.colocated; });
  returning_.reset();
  store_is_new_ = false;
  actions_.push_back(OpenStore{round_, start.world_size});
  inquest_.begin_round(round_);
  found_.reset();
  awaits_cause_.reset();
  std::map<std::string, int> role_ranks;
  std::set<NodeId> watched;
  for (std::size_t i = 0; i < ranked.size(); ++i) {
    Node& node = *ranked[i];
    nodes_.set_phase(node, Phase::kRunning);
    node.group_rank = start.group_rank = static_cast<int>(i);
    node.first_rank = start.first_rank;
    node.workers_left = node.join.workers;
    watched.insert(node.id());
    start.first_role_rank = role_ranks[node.join.role];
    start.role_world_size = role_sizes[node.join.role];
    send(node.peer(), start);
    inquest_.seat(node.id(), node.join.host, start.first_rank, node.join.workers);
    start.first_rank += node.join.workers;
    role_ranks[node.join.role] += node.join.workers;
  }
  nodes_.for_each([&](const Node& node) {
    if (node.phase() == Phase::kReady || node.phase() == Phase::kWitnessing)
      send(node.peer(), Spare{round_, start.group_world_size, attempt_, epoch_, quorum_.committed});
  });
  times_.sealed(round_, start.group_world_size, last_step_);
  watch_.begin_round(start.world_size, std::move(watched), last_step_);
  state_ = State::kRunning;
  chronicle_.sealed(round_, attempt_, start.group_world_size, start.world_size, last_step_);
}

/// How many nodes of the running round are still there.
int CoordinatorMachine::members() const {
  return nodes_.count(Phase::kRunning) + nodes_.count(Phase::kFinished);
}

Joined CoordinatorMachine::joined_answer(const Node& node, TimePoint now) const {
  return {.heartbeat_timeout_ms = rules_.heartbeat_timeout.count(),
          .clock_us = microseconds(now),
          .epoch = epoch_,
          .keeps_workers = keeps_workers(node)};
}

void CoordinatorMachine::send(PeerId peer, CoordinatorMessage message) {
  actions_.push_back(SendTo{peer, std::move(message)});
}

void CoordinatorMachine::send_to_nodes(const CoordinatorMessage& message) {
  nodes_.for_each([&](const Node& node) {
    if (!node.join.witness) send(node.peer(), message);
  });
}

}  // namespace ddprun
