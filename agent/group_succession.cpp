// The part of AgentMachine that decides what this node does when the coordinator is lost and
// another agent may follow it: docs/protocol.md, section "Succession".

#include <algorithm>
#include <utility>

#include "agent/group_machine.hpp"
#include "rendezvous/rounds/standing_notes.hpp"

namespace ddprun {

using std::chrono::milliseconds;

/// Before the first round nobody could follow the coordinator, and nothing is lost with it.
bool AgentMachine::has_successors() const {
  return voter_.epoch > 0 && voter_.proposed.version.round > 0;
}

/// Where the coordinator is that this node speaks to.
const std::string& AgentMachine::here() const {
  return contact_->place.empty() ? rules_.endpoint : contact_->place;
}

void AgentMachine::note_standing(const CoordinatorMessage& order) {
  if (const auto* joined = std::get_if<Joined>(&order)) {
    if (!may_lead(voter_, *joined)) return;
    const bool elsewhere = here() != rules_.endpoint || has_successors();
    if (std::exchange(search_, std::nullopt) && elsewhere)
      actions_.push_back(Warn{"the coordinator is at " + here() + " now"});
    if (joined->epoch == 0) return;
    voter_.epoch = joined->epoch;
    voter_.promised = std::max(voter_.promised, joined->epoch);
    voter_.leader = here();
    voter_.leader_dead = false;
    contact_->counts = true;
    contact_->voting_until.reset();
    followed_ = 0;
  } else if (const auto* start = std::get_if<StartRound>(&order); start && start->epoch > 0) {
    voter_.epoch = start->epoch;
    note_round(voter_,
               {{start->epoch, start->round},
                start->group_world_size,
                true,
                start->group_rank,
                start->awaited},
               start->committed);
    voter_.leader_is_member = start->leader_is_member;
    witnessed_ = false;
    successors_ = start->successors;
    extend_lease(start->lease_ms);
  } else if (const auto* spare = std::get_if<Spare>(&order); spare && spare->epoch > 0) {
    note_round(voter_, {{spare->epoch, spare->round}, spare->nodes, false}, spare->committed);
  } else if (const auto* voters = std::get_if<Reconfigure>(&order)) {
    note_voters(voter_, voters->round);
    witnessed_ = voters->witnessed;
  }
}

/// Nullopt: the workers may be alive as long as the connection lasts. With a `ddprun server`, which
/// nobody follows, the lease is theirs alone.
std::optional<TimePoint> AgentMachine::lease_ends() const {
  const bool has_lease = contact_ && contact_->counts && contact_->lease > TimePoint{};
  const bool is_bound = has_successors() || (keeps_workers_ && state_ != State::kIdle);
  return has_lease && is_bound ? std::optional{contact_->lease} : std::nullopt;
}

/// Whether the workers outlive a connection that ends, as long as their lease.
bool AgentMachine::may_run_on() const {
  return fence_ && (has_successors() || (keeps_workers_ && rules_.rejoin));
}

/// A `ddprun server` that is started again has this from nobody else.
void AgentMachine::note_seat(const StartRound& start) {
  if (!keeps_workers_) return;
  voter_.assignment = {start.round,      start.group_world_size, start.group_rank,
                       start.first_rank, start.world_size,       start.master_port};
  extend_lease(start.lease_ms);
}

/// It is counted from when the last beat was sent that has been answered: the answer was not sent
/// earlier.
void AgentMachine::extend_lease(std::int64_t lease_ms) {
  if (lease_ms < 0) return;
  const auto most = rules_.heartbeat_timeout * 19 / 20;
  contact_->lease = std::max(contact_->lease,
                             contact_->sent + std::min<milliseconds>(milliseconds{lease_ms}, most));
}

/// The contact with the coordinator is over.
void AgentMachine::part(TimePoint now) {
  if (const auto ends = lease_ends()) fence_ = *ends;
  if (!fence_ && has_successors()) fence_ = now;
  if (contact_->echoed > TimePoint{})
    counted_until_ =
        std::max(counted_until_, contact_->echoed + rules_.heartbeat_timeout * 11 / 10);
  contact_.reset();
  hurry(now);
}

ReachCoordinator AgentMachine::reach_at(std::string place, Patience patience, TimePoint now) const {
  VoterState voter = voter_;
  voter.running = coming_back_ ? round_ : 0;
  const auto counted = std::chrono::duration_cast<milliseconds>(counted_until_ - now);
  voter.old_lease_ms = std::max(counted, milliseconds{0}).count();
  return {patience, known_, milliseconds{0}, std::move(voter), std::move(place)};
}

/// The connection has ended, and perhaps nothing else: the workers run on while the coordinator is
/// tried again. A `ddprun server` may be started again meanwhile.
void AgentMachine::come_back(TimePoint now) {
  coming_back_ = true;
  const auto left = *fence_ - rules_.heartbeat_timeout / 5 - now;
  const auto time = std::max(std::chrono::duration_cast<milliseconds>(left), milliseconds{1});
  reaching_ = voter_.leader == rules_.endpoint ? "" : voter_.leader;
  if (!has_successors()) reaching_ = kept_at_;
  const milliseconds if_refused = has_successors() ? milliseconds{0} : time;
  actions_.push_back(reach_at(reaching_, {time, if_refused, time}, now));
  if (!has_successors())
    actions_.push_back(Warn{"lost the coordinator: the workers of this node run on, and it has " +
                            std::to_string(time.count()) + " ms to be there again"});
}

/// The node is in its round as before, for as long as the lease was that it had, until an answer to
/// a beat makes it longer. What was told over the old connection may be lost.
void AgentMachine::resumed() {
  coming_back_ = false;
  if (!has_successors()) {
    actions_.push_back(Warn{"the coordinator is there again: the workers go on"});
    progressed_ = told_last_;
  }
  if (const auto ends = std::exchange(fence_, std::nullopt)) contact_->lease = *ends;
  if (failed_) tell(*failed_);
  if (!failed_ && alive_ == 0 && state_ == State::kRunning) tell(WorkersFinished{round_});
}

void AgentMachine::unreachable(const CoordinatorUnreachable& event, TimePoint now) {
  if (std::exchange(coming_back_, false)) {
    voter_.leader_dead =
        has_successors() && event.refused && fence_ && now < *fence_;  // it had not lost this node
    return stop_and_search(event.reason, now);
  }
  if (search_ && !end_) {
    search_->refused = search_->refused && event.refused;
    found_at_place(event.reason);
    search_->why = event.reason;
    return try_next(now);
  }
  const auto why = met_ ? AgentEnd::Why::kCoordinatorLost : AgentEnd::Why::kNoCoordinator;
  const std::string hint = met_ && event.refused ? rules_.lost_hint : "";
  exit_with({why, {}, 0, event.reason + hint}, SIGTERM, now);
}

void AgentMachine::stop_and_search(const std::string& reason, TimePoint now) {
  if (!held_end_)
    actions_.push_back(Warn{"lost the coordinator (" + reason +
                            "): stopping the workers of this node, then " +
                            (has_successors() ? "looking for the next one" : "joining again")});
  rejoining_ = true;
  if (state_ == State::kRunning) stop(SIGTERM, now);
  hurry(now);
  if (state_ == State::kIdle) after_sweep(now);
}

/// Workers that are being stopped have no more time than the fence leaves them.
void AgentMachine::hurry(TimePoint now) {
  const bool in_grace =
      state_ == State::kStopping && grace_ && grace_->what != Grace::For::kSigkill;
  if (!in_grace || !fence_) return;
  grace_->ends = std::min(grace_->ends, *fence_);
  if (now >= grace_->ends) kill(now);
}

AgentEnd AgentMachine::in_vain(int nodes, milliseconds patience) const {
  std::string why = "the coordinator is lost, and ";
  if (nodes < 3)
    why += "of " + std::to_string(nodes) +
           " nodes the rest is no majority that could go on: that takes three nodes, or a witness "
           "(`ddprun server` on a third machine, named by --rdzv-endpoint)";
  else if (witnessed_)
    why += "for " + std::to_string(patience.count() / 1000) +
           " s nobody had more than half of the votes of " + std::to_string(nodes - 1) +
           " nodes and the witness";
  else
    why += "for " + std::to_string(patience.count() / 1000) +
           " s nobody had the votes of more than half of the " + std::to_string(nodes) + " nodes";
  return {AgentEnd::Why::kCoordinatorLost, {}, 0, std::move(why)};
}

/// The successors come first, in their order, so that all nodes meet at the same one.
void AgentMachine::search(TimePoint now) {
  search_ = Search{now, {}, 0};
  if (!first_place_.empty()) search_->places.push_back(std::exchange(first_place_, ""));
  if (rules_.has_referee) {
    search_->places.emplace_back();
    return try_next(now);
  }
  for (const std::string& place : successors_) search_->places.push_back(place);
  search_->places.push_back(voter_.leader);
  for (const std::string& place : rules_.places)
    if (std::ranges::count(search_->places, place) == 0) search_->places.push_back(place);
  try_next(now);
}

/// Of two nodes one is no majority, so the other is waited for only while it may be there.
void AgentMachine::try_next(TimePoint now) {
  if (rules_.has_referee) return try_referee(now);
  if (!has_successors()) return try_next_place(now);
  const int nodes = std::max(voter_.proposed.voters, voter_.committed.voters);
  const bool alone = nodes < 3 && search_->refused;
  const auto patience = alone ? rules_.heartbeat_timeout : rules_.join_timeout;
  if (now - search_->since >= patience) return exit_with(in_vain(nodes, patience), SIGTERM, now);
  const std::size_t tried = search_->next++;
  const auto& places = search_->places;
  const bool all_gone = search_->refused && tried >= places.size();
  if (held_end_ && (all_gone || now - search_->since >= rules_.heartbeat_timeout))
    return exit_as_told(now);
  reaching_ = places[tried % places.size()];
  ReachCoordinator wish = reach_at(reaching_, {kPlaceTimeout, milliseconds{0}, kPlaceTimeout}, now);
  const std::size_t times_around = tried / places.size();
  wish.pause = pause_before_joining();  // one that admits this node may be lost at once, each time
  if (times_around > 0) wish.pause = ConnectPlan::pause_number(times_around);
  actions_.push_back(std::move(wish));
}

/// The referee knows where the coordinator is, so there is one attempt for all the time.
void AgentMachine::try_referee(TimePoint now) {
  const auto patience = held_end_ ? rules_.heartbeat_timeout : rules_.join_timeout;
  const auto left = std::chrono::duration_cast<milliseconds>(search_->since + patience - now);
  if (left <= milliseconds{0} && held_end_) return exit_as_told(now);
  if (left <= milliseconds{0})
    return exit_with({AgentEnd::Why::kCoordinatorLost, {}, 0, search_->why}, SIGTERM, now);
  const std::size_t tried = search_->next++;
  reaching_ = search_->places[std::min(tried, search_->places.size() - 1)];
  const auto time = reaching_.empty() ? left : std::min(left, milliseconds{kPlaceTimeout});
  const auto answer = std::max(rules_.heartbeat_timeout, kAnswerTimeoutMin);
  ReachCoordinator wish = reach_at(reaching_, {time, milliseconds{0}, std::min(time, answer)}, now);
  wish.pause = pause_before_joining();
  if (tried > 1) wish.pause = ConnectPlan::pause_number(tried);
  actions_.push_back(std::move(wish));
}

/// Who listens there does not lead on.
void AgentMachine::give_up_candidate(TimePoint now) {
  actions_.push_back(Disconnect{});
  part(now);
  if (end_) return;
  if (coming_back_) {
    coming_back_ = false;
    return stop_and_search("it does not know this node any more", now);
  }
  found_at_place("the agent at " + reaching_ + " coordinates nothing");
  if (!search_) return has_successors() ? search(now) : look_around(now);
  try_next(now);
}

void AgentMachine::promise(const RequestVote& order, TimePoint now) {
  if (order.epoch <= voter_.promised) return;
  voter_.promised = order.epoch;
  contact_->counts = true;
  contact_->echoed = now;
  tell(Vote{order.epoch, order.clock_us});
}

/// The node has been sent there already. It may be in vain again, so it is tried in its turn.
void AgentMachine::pass_by(const std::string& place, TimePoint now) {
  part(now);
  if (end_) return;
  if (std::ranges::count(search_->places, place) == 0) search_->places.push_back(place);
  try_next(now);
}

void AgentMachine::go_elsewhere(const Redirect& order, TimePoint now) {
  actions_.push_back(Disconnect{});
  const bool runs_for_nobody = order.coordinator.empty() && state_ != State::kIdle;
  if (!has_successors() && !runs_for_nobody) return follow(order, now);
  if (!has_successors()) {
    part(now);
    if (end_) return;
    coming_back_ = false;
    return stop_and_search("its workers are of no round any more", now);
  }
  const bool followed = !order.coordinator.empty() && order.epoch <= followed_;
  if (search_ && followed) return pass_by(order.coordinator, now);
  followed_ = std::max(followed_, order.epoch);
  first_place_ = order.coordinator.empty() ? here() : order.coordinator;
  part(now);
  if (end_) return;
  coming_back_ = false;
  search_.reset();
  stop_and_search("it is at " + first_place_ + " now", now);
}

}  // namespace ddprun
