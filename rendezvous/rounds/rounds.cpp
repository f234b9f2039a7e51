#include "rendezvous/rounds/rounds.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "base/numbers.hpp"
#include "rendezvous/messages/round_messages.hpp"
#include "rendezvous/rounds/in_place.hpp"
#include "rendezvous/rounds/rank_assignment.hpp"
#include "rendezvous/rounds/round_nodes.hpp"

namespace ddprun {

namespace {

using Phase = Roster::Phase;
using Node = Roster::Node;
using std::chrono::milliseconds;

TimePoint resumes_at(const Rounds::Context& context) {
  return context.failures.budget().resumes_at();
}

/// How long a pause before a restart still takes (--restart-delay); 0: there is none.
milliseconds pause_left(const Rounds::Context& context, TimePoint now) {
  return std::chrono::ceil<milliseconds>(std::max(resumes_at(context), now) - now);
}

}  // namespace

void Rounds::stand_by() {
  if (runs()) context_.observers.forget_round();
  state_ = State::kIdle;
}

void Rounds::gather(TimePoint now) {
  state_ = State::kGathering;
  gathering_since_ = std::max(now, resumes_at(context_));
  context_.leadership.step(GatheringBegun{}, now);
  judge_nodes(context_, now);
}

void Rounds::recover(const HostedAssignment& round, int attempt, TimePoint now) {
  state_ = State::kRunning;
  context_.job.counters = {round.round, attempt};
  nodes_begun_ = round.nodes;
  const bool may_listen = round.store_port >= kStorePortMin;
  context_.out.add(OpenStore{round.round, round.world_size, may_listen ? round.store_port : 0});
  context_.checkpoints.recover_round(round.nodes);
  context_.failures.begin_round(round.round);
  context_.failures.lose_store();
  context_.observers.recovered({.round = round.round,
                                .attempt = attempt,
                                .nodes = round.nodes,
                                .world_size = round.world_size},
                               now);
}

StopRound Rounds::stop_order(const std::string& reason) const {
  return {.round = context_.job.counters.round,
          .reason = reason,
          .attempt = context_.job.next_attempt(),
          .at_once = manner_ == Manner::kAtOnce,
          .last = context_.job.verdict.has_value()};
}

void Rounds::stop(const Failures::Stop& why, TimePoint now, std::int64_t checkpoint_ms) {
  state_ = State::kStopping;
  context_.checkpoints.end_round();
  context_.failures.stopping(context_.observers.watch().hang());
  StopRound order = stop_order(why.reason);
  order.checkpoint_ms = checkpoint_ms;
  if (checkpoint_ms == 0 && !order.at_once) context_.in_place.stop(order, why.nobody_is_lost);
  if (order.keep) manner_ = Manner::kInPlace;
  context_.observers.stopping(order, why.noticed_after, now);
  milliseconds longest{};
  context_.nodes.for_each([&](Node& node) {
    if (!node.is_in_round()) return;
    context_.nodes.set_phase(node, Phase::kStopping);
    longest =
        std::max(longest, node.join.terms.shutdown_timeout + milliseconds{node.join.check_ms});
    if (order.keep) order.evict = format_number_list(node.seats.local_ranks_in(why.hung));
    context_.out.send(node.peer(), order);
  });
  if (order.gently) longest *= 2;  // to reach the last step, and then to leave
  stopping_ends_ = now + milliseconds{checkpoint_ms} + longest +
                   stopping_reserve(context_.rules.terms.heartbeat_timeout);
}

void Rounds::stop_at_once(TimePoint now) {
  if (runs()) {
    manner_ = Manner::kAtOnce;
    stop({"too few nodes are heard: others may have a new coordinator"}, now);
  } else if (state_ == State::kStopping &&
             std::exchange(manner_, Manner::kAtOnce) != Manner::kAtOnce) {
    context_.out.send_to_stopping(context_.nodes, stop_order("too few nodes are heard"));
  }
}

void Rounds::workers_finished(Node& node, const WorkersFinished& report) {
  if (report.round == context_.job.counters.round && node.phase() == Phase::kRunning)
    context_.nodes.set_phase(node, Phase::kFinished);
}

void Rounds::workers_stopped(Node& node, const WorkersStopped& report) {
  // Those that are discarded may have left an older round.
  const bool is_of_now =
      manner_ == Manner::kDiscarding || report.round == context_.job.counters.round;
  if (!is_of_now || node.phase() != Phase::kStopping) return;
  context_.nodes.set_phase(node, Phase::kReady);
  if (manner_ == Manner::kInPlace) context_.in_place.stopped(node, report.parked);
}

bool Rounds::is_member(const Node& node) const {
  if (state_ != State::kGathering) return node.seats.round() == context_.job.counters.round;
  return std::ranges::count(choose_members(context_.nodes, context_.rules), &node) > 0;
}

RoundView Rounds::view() const {
  const JobCounters& counters = context_.job.counters;
  const int spares = runs() ? context_.nodes.count(Phase::kReady) : 0;
  return {counters.round, counters.attempt,
          runs(),         nodes_in_round(context_.nodes),
          spares,         [this] { return first_spare(context_.nodes); }};
}

Spare Rounds::spare(const Node& node) const {
  const Leadership& leadership = context_.leadership;
  const JobCounters& counters = context_.job.counters;
  return {counters.round,     nodes_begun_,           counters.attempt,
          leadership.epoch(), leadership.committed(), leadership.successors(),
          node.objection()};
}

std::optional<EndJob> Rounds::advance(TimePoint now) {
  Leadership& leadership = context_.leadership;
  const JobState& job = context_.job;
  if (runs())
    if (const auto stopping = context_.failures.give_up_cause(context_.nodes, now))
      stop(*stopping, now);
  if (runs() && !context_.failures.awaits_cause())
    if (const auto stopping = context_.in_place.fill_seats()) stop(*stopping, now);
  if (runs() && context_.nodes.count(Phase::kRunning) == 0 &&
      leadership.may(Permission::kFinishRound, now))
    return EndJob{EndJob::Outcome::kFinished, job.counters.attempt, "", {}};
  if (state_ == State::kStopping && context_.nodes.count(Phase::kStopping) == 0) {
    context_.in_place.at_step().end();
    // Workers that were parked, and are discarded now, have reported how they ended before.
    if (manner_ != Manner::kDiscarding) {
      context_.failures.stopped(now);
      const auto& verdict = context_.failures.cause();
      context_.checkpoints.round_failed(verdict ? &verdict->cause : nullptr);
      // On the smaller side of a cut the others seem to be lost.
      if (manner_ != Manner::kAtOnce) remember_failure(context_, now);
    }
    gather(now);
    context_.observers.stopped(now);
    if (pause_left(context_, now) > milliseconds{0} && !job.verdict)
      context_.out.send_to_nodes(context_.nodes, waiting(now));
  }
  if (state_ != State::kGathering || !job.verdict) return std::nullopt;
  // On the smaller side of a cut the job has not ended: others may go on with it.
  const bool may_end = leadership.may(Permission::kEndJob, now) || now >= gathering_ends();
  return may_end ? job.verdict : std::nullopt;
}

/// The last call begins when MIN nodes are ready for the first round. When a node is lost so that
/// fewer are ready, the job waits for MIN again, and then another last call begins. A later round
/// does not wait for more than MIN nodes, because those that are ready have work to go on with. A
/// job that ends begins no round, also while its leader may not end it yet.
std::optional<RoundWanted> Rounds::wanted(TimePoint now) {
  if (state_ != State::kGathering) return std::nullopt;
  const CoordinatorRules& rules = context_.rules;
  const bool first = context_.job.counters.round == 0;
  const int ready = context_.nodes.count(Phase::kReady);
  if (ready < rules.terms.nodes_min || !first)
    last_call_ends_.reset();
  else if (!last_call_ends_)
    last_call_ends_ = now + rules.terms.last_call_timeout;
  if (ready < rules.terms.nodes_min || context_.job.verdict || now < resumes_at(context_) ||
      context_.history.awaited_until(now))
    return std::nullopt;
  if (first && now < gathering_ends() &&
      (ready < rules.terms.nodes_max || ready - context_.nodes.objected() < rules.terms.nodes_max))
    return std::nullopt;
  if (!context_.checkpoints.is_ready()) {
    had_enough_ = now;  // the disk is waited for, and no node
    return std::nullopt;
  }
  const auto members = [this] {
    std::vector<NodeId> ids;
    for (const Node* const node : choose_members(context_.nodes, context_.rules))
      ids.push_back(node->id());
    return ids;
  };
  const auto attempt = [this] {
    int most = context_.job.counters.attempt;
    for (const Node* const node : choose_members(context_.nodes, context_.rules))
      most = std::max(most, node->join.counters.attempt);
    return most;
  };
  return RoundWanted{members, attempt};
}

/// When the waiting for nodes ends: with the last call there are enough, without it too few.
TimePoint Rounds::gathering_ends() const {
  return last_call_ends_.value_or(gathering_since_ + context_.rules.terms.join_timeout);
}

/// Enough nodes may have to wait for leadership.
TimePoint Rounds::gives_up_at() const {
  const TimePoint enough_end = had_enough_ + context_.rules.terms.join_timeout;
  if (last_call_ends_)
    return std::max(*last_call_ends_ + context_.rules.terms.join_timeout, enough_end);
  return std::max({gathering_ends(), context_.leadership.unknown_workers_end(), enough_end});
}

bool Rounds::has_waited_in_vain(TimePoint now) const {
  return state_ == State::kGathering && now >= gives_up_at() &&
         !context_.history.awaited_until(now);
}

EndJob Rounds::timed_out(const std::string& last_loss) const {
  const int needed = context_.leadership.nodes_needed(context_.rules.terms.nodes_min);
  std::string message = "waited " +
                        std::to_string(context_.rules.terms.join_timeout.count() / 1000) +
                        " s for nodes: " + std::to_string(context_.nodes.count(Phase::kReady)) +
                        " there, " + std::to_string(needed) + " needed";
  if (!last_loss.empty()) message += " (" + last_loss + ")";
  return {EndJob::Outcome::kTooFewNodes, context_.job.counters.attempt, std::move(message), {}};
}

std::vector<NodeId> Rounds::unstopped(TimePoint now) const {
  std::vector<NodeId> late;
  if (state_ != State::kStopping || now < stopping_ends_) return late;
  context_.nodes.for_each([&](const Node& node) {
    if (node.phase() == Phase::kStopping) late.push_back(node.id());
  });
  return late;
}

/// Goes on from what the members of the next round know of the job: after a coordinator that is
/// gone, of its rounds and attempts. Only members are believed, because they can spend the restarts
/// anyway. Returns the verdict when there is to be no next round.
std::optional<EndJob> Rounds::learn_from(const std::vector<Node*>& members) {
  const JobCounters& counters = context_.job.counters;
  for (const Node* const member : members) {
    context_.job.reach(member->join.counters);
    if (member->announced)
      return EndJob{EndJob::Outcome::kPreempted, counters.attempt, member->announced->reason, {}};
  }
  if (!context_.failures.budget().is_spent_by(counters.attempt - 1)) return std::nullopt;
  return EndJob{EndJob::Outcome::kFailed,
                context_.rules.terms.restarts_max,
                "the last attempt has failed, and the coordinator that knew why is gone",
                {}};
}

std::optional<EndJob> Rounds::seal(TimePoint now) {
  const std::vector<Node*> members = choose_members(context_.nodes, context_.rules);
  if (auto verdict = learn_from(members)) return verdict;
  if (!InPlace::fits_parked(members)) {
    discard_parked(now);
    return std::nullopt;
  }
  start(order_by_rank(members), now);
  return std::nullopt;
}

/// Members that need as many workers as before would be more or fewer: all are restarted.
void Rounds::discard_parked(TimePoint now) {
  state_ = State::kStopping;
  manner_ = Manner::kDiscarding;
  context_.observers.nobody_stays();
  StopRound order = stop_order("the number of workers changes, which they cannot do in place");
  order.discard = true;
  milliseconds longest{};
  context_.nodes.for_each([&](Node& node) {
    if (node.phase() != Phase::kReady || node.seats.parked().workers.empty()) return;
    context_.nodes.set_phase(node, Phase::kStopping);
    node.seats.discard_parked();
    longest = std::max(longest, node.join.terms.shutdown_timeout);
    context_.out.send(node.peer(), order);
  });
  stopping_ends_ = now + longest + stopping_reserve(context_.rules.terms.heartbeat_timeout);
}

void Rounds::start(const std::vector<Node*>& ranked, TimePoint now) {
  JobCounters& counters = context_.job.counters;
  std::vector<NodeId> ids;
  std::map<std::string, int> role_sizes;
  StartRound start{.round = ++counters.round,
                   .attempt = counters.attempt,
                   .group_world_size = static_cast<int>(ranked.size()),
                   .world_size = 0,
                   .master_addr = context_.rules.master_addr,
                   .master_port = context_.rules.master_port,
                   .checkpoint = context_.checkpoints.next()};
  for (Node* const node : ranked) {
    ids.push_back(node->id());
    context_.nodes.set_phase(*node, Phase::kRunning);
    node->seats.enter(start.round, static_cast<int>(ids.size()) - 1, start.world_size);
    start.world_size += node->seats.taken();
    role_sizes[node->join.role] += node->seats.taken();
  }
  RoundTerms terms = context_.leadership.begin_round(start.round, ids, now);
  start.epoch = terms.epoch;
  start.lease_ms = terms.lease_ms;
  start.committed = std::move(terms.committed);
  start.awaited = std::move(terms.awaited);
  start.successors = std::move(terms.successors);
  start.leader_rank = terms.leader_rank;
  start.node_note = note_on_nodes(context_.nodes);
  context_.out.add(OpenStore{start.round, start.world_size});
  context_.failures.begin_round(start.round);
  context_.checkpoints.begin_round(start.group_world_size, start.checkpoint);
  const bool stayed = manner_ == Manner::kInPlace;
  if (!stayed) context_.job.workers_start();
  context_.in_place.begin_round(stayed);
  manner_ = Manner::kInOrder;
  nodes_begun_ = start.group_world_size;
  std::map<std::string, int> role_ranks;
  for (Node* const node : ranked) {
    start.group_rank = node->seats.group_rank();
    start.first_rank = node->seats.first_rank();
    start.vacant = node->seats.vacant();
    int& role_rank = role_ranks[node->join.role];
    start.first_role_rank = role_rank;
    start.role_world_size = role_sizes[node->join.role];
    context_.out.send(node->peer(), start);
    context_.failures.seat(*node);
    role_rank += node->seats.taken();
  }
  tell_those_who_wait(context_, *this, start.group_world_size);
  state_ = State::kRunning;
  context_.observers.sealed({.round = start.round,
                             .attempt = start.attempt,
                             .nodes = start.group_world_size,
                             .world_size = start.world_size},
                            context_.nodes, now);
}

/// With enough nodes only the workers of before are waited for.
Waiting Rounds::waiting(TimePoint now) const {
  const CoordinatorRules& rules = context_.rules;
  const Leadership& leadership = context_.leadership;
  const int ready = context_.nodes.count(Phase::kReady);
  const int needed = leadership.nodes_needed(rules.terms.nodes_min);
  const bool enough = context_.job.counters.round > 0 && ready >= needed;
  const milliseconds pause = pause_left(context_, now);
  TimePoint ends = enough ? std::max(now + pause, leadership.old_leases_end()) : gathering_ends();
  if (const TimePoint unknown_end = leadership.unknown_workers_end(); now < unknown_end)
    ends = enough || ready >= rules.terms.nodes_max ? unknown_end
                                                    : std::max(gathering_ends(), unknown_end);
  return {.nodes = ready,
          .nodes_min = needed,
          .nodes_max = rules.terms.nodes_max,
          .left_ms = std::chrono::duration_cast<milliseconds>(ends - now).count(),
          .pause_ms = pause.count(),
          .clock_us = microseconds(now),
          .objected = last_call_ends_ ? context_.nodes.objected() : 0};
}

std::optional<TimePoint> Rounds::next_due(TimePoint now) const {
  switch (state_) {
    case State::kIdle:
      return std::nullopt;
    case State::kGathering:
      if (resumes_at(context_) > now) return resumes_at(context_);
      if (const auto recalled_by = context_.history.awaited_until(now)) return recalled_by;
      return gathering_ends() > now ? gathering_ends() : gives_up_at();
    case State::kRunning:
      return context_.failures.next_due();
    case State::kStopping:
      return stopping_ends_;
  }
  return std::nullopt;
}

}  // namespace ddprun
