#include "agent/decisions/coordinator_search.hpp"

#include <algorithm>
#include <csignal>
#include <utility>

#include "rendezvous/leadership/lease_times.hpp"

namespace ddprun {

using std::chrono::milliseconds;
using Why = AgentEnd::Why;

namespace {

milliseconds time_left(TimePoint until, TimePoint now) {
  return std::chrono::duration_cast<milliseconds>(until - now);
}

/// No process listens at `place` any more, so its agent is gone. Successors of the last round are
/// nodes of it; one of them may have followed its coordinator, and be lost as well.
void note_gone(AgentState& agent, const std::string& place, TimePoint now) {
  Follower& follower = agent.follower;
  if (place == follower.state().leader && !follower.state().leader_dead)
    follower.find_leader_gone(follower.is_counted(agent.rules.terms.heartbeat_timeout, now));
  for (const Successor& successor : agent.successors)
    if (successor.endpoint == place) follower.find_member_gone(successor.rank);
}

}  // namespace

void LossesInARow::count(bool was_soon, TimePoint now) {
  if (!was_soon) reset();
  if (count_++ == 0) first_ = now;
}

milliseconds LossesInARow::lasted(TimePoint now) const {
  return count_ > 1 ? time_left(now, first_) : milliseconds{0};
}

milliseconds LossesInARow::pause() const {
  if (count_ < 2) return {};
  return ConnectPlan::pause_number(static_cast<std::size_t>(count_ - 2));
}

CoordinatorSearch::CoordinatorSearch(AgentState& agent, WorkerRound& workers)
    : agent_{agent}, workers_{workers}, successor_search_{make_successor_search(agent)} {}

bool CoordinatorSearch::finds_successor() const {
  return aim_ == Aim::kResume ||
         (agent_.follower.knows_a_round() && (takes_turns() || aim_ == Aim::kStopWorkers));
}

/// Where the coordinator is that this node speaks to.
const std::string& CoordinatorSearch::here() const {
  const std::string& place = agent_.contact->place();
  return place.empty() ? agent_.rules.endpoint : place;
}

milliseconds CoordinatorSearch::patience_with_candidate() const {
  const bool votes = agent_.follower.knows_a_round() || !takes_turns();
  return votes ? std::max(agent_.rules.terms.heartbeat_timeout / 2, kVotingMin) : kVotingOfNewcomer;
}

// --- connections ---

void CoordinatorSearch::connected(const std::string& place, std::optional<TimePoint> asked,
                                  TimePoint now) {
  agent_.contact.emplace(place.empty() ? reaching_ : place, asked, now);
  met_ = true;
}

bool CoordinatorSearch::joined(const Joined& answer) {
  const bool elsewhere = here() != agent_.rules.endpoint || agent_.follower.knows_a_round();
  if (takes_turns() && elsewhere) agent_.warn("the coordinator is at " + here() + " now");
  agent_.follower.follow(answer, here());
  agent_.keeps_workers = answer.keeps_workers;
  server_ = agent_.contact->place();
  if (answer.epoch > 0) {
    agent_.contact->found_leader();
    redirected_ = 0;
  }
  if (answer.epoch > 0 || answer.keeps_workers) agent_.contact->let_count();
  turns_.reset();
  return std::exchange(aim_, Aim::kNone) == Aim::kResume;
}

/// The contact with the coordinator is over.
void CoordinatorSearch::part(TimePoint now) {
  if (const auto ends = lease_ends(agent_, workers_)) workers_.set_dead_by(*ends);
  if (!workers_.dead_by() && agent_.follower.knows_a_round()) workers_.set_dead_by(now);
  agent_.follower.part(agent_.rules.terms.heartbeat_timeout);
  agent_.contact.reset();
  workers_.hurry(now);
}

void CoordinatorSearch::reach(Attempt attempt, TimePoint now) {
  VoterState voter = agent_.follower.told(now);
  voter.running = aim_ == Aim::kResume ? workers_.number() : 0;
  reaching_ = attempt.place;
  agent_.act(ReachCoordinator{attempt.patience, agent_.counters, attempt.pause, std::move(voter),
                              std::move(attempt.place), workers_.parked(), agent_.unfit});
}

// --- what happens ---

/// A node that is cut off stops its workers: the others go on without it, with its ranks.
CoordinatorSearch::End CoordinatorSearch::lost(Loss loss, const std::string& reason,
                                               TimePoint now) {
  const bool was_soon = now - agent_.contact->since() < agent_.rules.terms.heartbeat_timeout;
  losses_.count(was_soon, now);
  const bool obeyed = agent_.contact->is_joined();
  part(now);
  if (agent_.end) return {};
  if (takes_turns() && !obeyed) {
    const bool candidate_closed = aim_ == Aim::kSucceed && loss == Loss::kClosed;
    if (candidate_closed && successor_search_->repeats_lost_candidate()) turns_->repeat();
    return try_next(now);
  }
  const bool runs = workers_.state() == WorkerRound::State::kRunning && loss == Loss::kClosed;
  if (runs && may_outlive_connection(agent_, workers_, now)) return resume(now);
  const bool joins_in_vain = losses_.lasted(now) >= agent_.rules.terms.join_timeout;
  if (!agent_.follower.knows_a_round() && (!agent_.rules.rejoin || joins_in_vain))
    return AgentEnd{Why::kCoordinatorLost, {}, 0, reason};
  // If no process listens there any more, this node can report to a successor that the leader is
  // dead.
  if (loss == Loss::kClosed) try_first_ = agent_.follower.state().leader;
  return stop_workers(reason, now);
}

CoordinatorSearch::End CoordinatorSearch::unreachable(const CoordinatorUnreachable& event,
                                                      TimePoint now) {
  if (aim_ == Aim::kResume) {
    const bool had_not_lost_it = workers_.dead_by() && now < *workers_.dead_by();
    if (event.refused)  // one that does not answer may be cut off, with its workers alive
      agent_.follower.find_leader_gone(agent_.follower.knows_a_round() && had_not_lost_it);
    return stop_workers(event.reason, now);
  }
  if (takes_turns() && !agent_.end) {
    turns_->failed(reaching_, event.reason, event.refused);
    if (event.refused) note_gone(agent_, reaching_, now);
    return try_next(now);
  }
  return AgentEnd{met_ ? Why::kCoordinatorLost : Why::kNoCoordinator, {}, 0, event.reason};
}

CoordinatorSearch::End CoordinatorSearch::give_up_candidate(TimePoint now) {
  agent_.act(Disconnect{});
  part(now);
  if (agent_.end) return {};
  if (aim_ == Aim::kResume || !is_over(workers_))
    return stop_workers("it does not know this node any more", now);
  if (!takes_turns()) return agent_.follower.knows_a_round() ? succeed(now) : look_around(now);
  turns_->found(reaching_, "the agent at " + reaching_ + " coordinates nothing");
  return try_next(now);
}

bool CoordinatorSearch::looks_on_after(const Refused& answer) const {
  return takes_turns() && (answer.other_job || agent_.follower.knows_a_round());
}

CoordinatorSearch::End CoordinatorSearch::redirected(const Redirect& order, TimePoint now) {
  agent_.act(Disconnect{});
  const std::string first = order.coordinator.empty() ? here() : order.coordinator;
  const bool runs = !is_over(workers_);
  part(now);
  if (agent_.end) return {};
  if (!agent_.follower.knows_a_round()) {
    if (!order.coordinator.empty() || !runs) return follow(order, now);
    return stop_workers("its workers are of no round any more", now);
  }
  // A node that was sent there already may be sent in vain again, so that is tried in its turn.
  const bool again = !order.coordinator.empty() && order.epoch <= redirected_;
  if (takes_turns() && again) {
    turns_->add(order.coordinator);
    return try_next(now);
  }
  redirected_ = std::max(redirected_, order.epoch);
  try_first_ = first;
  return stop_workers("it is at " + first + " now", now);
}

/// A newcomer learns where the coordinator is.
CoordinatorSearch::End CoordinatorSearch::follow(const Redirect& order, TimePoint now) {
  if (!takes_turns()) {
    if (order.epoch > 0) try_first_ = order.coordinator;
    return look_around(now);
  }
  turns_->found(reaching_,
                "the coordinator is not at " + reaching_ + ", but at " + order.coordinator);
  if (turns_->hear(order.epoch)) try_first_ = order.coordinator;
  return try_next_place(now);
}

CoordinatorSearch::End CoordinatorSearch::workers_stopped(TimePoint now) {
  if (agent_.follower.knows_a_round()) return succeed(now);
  return meet(agent_.rules.terms.heartbeat_timeout, now);
}

// --- where it goes ---

/// A coordinator that is there answers a join as soon as it answers a beat, and has a little more
/// time where beats have very little.
CoordinatorSearch::End CoordinatorSearch::meet(milliseconds patience_with_refusals, TimePoint now) {
  if (agent_.rules.places.size() > 1) return look_around(now);
  aim_ = Aim::kMeet;
  const auto answer = std::max(agent_.rules.terms.heartbeat_timeout, kAnswerTimeoutMin);
  reach({"", {agent_.rules.terms.join_timeout, patience_with_refusals, answer}, losses_.pause()},
        now);
  return {};
}

/// It knows no node yet that could name the coordinator.
CoordinatorSearch::End CoordinatorSearch::look_around(TimePoint now) {
  aim_ = Aim::kLookAround;
  std::vector<std::string> places = agent_.rules.places;
  if (places.empty()) places.push_back(agent_.rules.endpoint);
  turns_.emplace(std::move(places), now);
  return try_next_place(now);
}

CoordinatorSearch::End CoordinatorSearch::try_next(TimePoint now) {
  const bool is_guided = aim_ == Aim::kSucceed || successor_search_->guides_newcomers();
  if (!is_guided) return try_next_place(now);
  auto next = successor_search_->next(*turns_, losses_.pause(), now);
  if (auto* const end = std::get_if<AgentEnd>(&next)) return std::move(*end);
  reach(std::get<Attempt>(std::move(next)), now);
  return {};
}

/// One place after the other, with a pause after the last one. If another node has named the
/// coordinator's place, it comes first.
CoordinatorSearch::End CoordinatorSearch::try_next_place(TimePoint now) {
  const bool gone = turns_->all_refuse() && met_;
  const auto patience =
      gone ? agent_.rules.terms.heartbeat_timeout : agent_.rules.terms.join_timeout;
  if (now - turns_->since() >= patience)
    return AgentEnd{met_ ? Why::kCoordinatorLost : Why::kNoCoordinator, {}, 0, turns_->findings()};
  if (auto note = turns_->note(agent_.rules.terms.join_timeout, now)) agent_.warn(std::move(*note));
  milliseconds pause{0};
  std::string place = std::exchange(try_first_, "");
  if (place.empty()) {
    const Turns::Try next = turns_->next();
    place = next.place;
    if (next.begins_turn && next.turn > 0) pause = ConnectPlan::pause_number(next.turn - 1);
  }
  reach({std::move(place),
         {kPlaceTimeout, milliseconds{0}, kPlaceTimeout},
         std::max(pause, losses_.pause())},
        now);
  return {};
}

/// The connection has ended, and perhaps nothing else: the workers run on while the coordinator is
/// tried again. A `ddprun server` may be started again meanwhile.
CoordinatorSearch::End CoordinatorSearch::resume(TimePoint now) {
  aim_ = Aim::kResume;
  const bool is_server = !agent_.follower.knows_a_round();
  const auto reserve = kServerReserve.of(agent_.rules.terms.heartbeat_timeout);
  const auto time = std::max(time_left(*workers_.dead_by() - reserve, now), milliseconds{1});
  const std::string& leader = agent_.follower.state().leader;
  const std::string place = is_server ? server_ : leader == agent_.rules.endpoint ? "" : leader;
  reach({place, {time, is_server ? time : milliseconds{0}, time}}, now);
  if (is_server)
    agent_.warn("lost the coordinator: the workers of this node run on, and it has " +
                std::to_string(time.count()) + " ms to be there again");
  return {};
}

CoordinatorSearch::End CoordinatorSearch::stop_workers(const std::string& reason, TimePoint now) {
  aim_ = Aim::kStopWorkers;
  turns_.reset();
  const bool runs = workers_.state() == WorkerRound::State::kRunning;
  const bool go_on = goes_on(workers_) && asked(workers_) != Asked::kCheckpoint;
  const bool stay = runs ? agent_.may_stay : go_on;
  if (!agent_.held_end)
    agent_.warn("lost the coordinator (" + reason + "): " + (stay ? "keeping" : "stopping") +
                " the workers of this node, then " +
                (agent_.follower.knows_a_round() ? "looking for the next one" : "joining again"));
  if ((runs && stay) || holds(workers_))  // no order will name their last step
    workers_.leave({}, now);
  else if (runs)
    workers_.stop(SIGTERM, now);
  workers_.hurry(now);
  if (is_over(workers_)) return workers_stopped(now);
  return {};
}

/// A place that another node named as the coordinator's comes first.
CoordinatorSearch::End CoordinatorSearch::succeed(TimePoint now) {
  aim_ = Aim::kSucceed;
  turns_.emplace(std::vector<std::string>{}, now);
  if (!try_first_.empty()) turns_->add(std::exchange(try_first_, ""));
  for (const std::string& place : successor_search_->places()) turns_->add(place);
  return try_next(now);
}

}  // namespace ddprun
