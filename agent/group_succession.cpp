// The part of GroupMachine that decides what this node does when the coordinator is lost and
// another agent may follow it: docs/protocol.md, section "Succession".

#include <algorithm>
#include <utility>

#include "agent/group_machine.hpp"

namespace ddprun {

using std::chrono::milliseconds;

/// Before the first round nobody could follow the coordinator, and nothing is lost with it.
bool GroupMachine::has_successors() const {
  return standing_.epoch > 0 && standing_.started.name.round > 0;
}

/// Whether who has admitted this node may give it orders.
bool GroupMachine::leads_here(const Joined& answer) const {
  return answer.epoch == 0 ? standing_.epoch == 0
                           : answer.epoch >= std::max(standing_.epoch, standing_.promised);
}

/// Where the coordinator is that this node speaks to.
const std::string& GroupMachine::here() const {
  return contact_->place.empty() ? rules_.endpoint : contact_->place;
}

void GroupMachine::note_standing(const CoordinatorMessage& order) {
  if (const auto* joined = std::get_if<Joined>(&order)) {
    if (!leads_here(*joined) || joined->epoch == 0) return;
    standing_.epoch = joined->epoch;
    standing_.promised = std::max(standing_.promised, joined->epoch);
    standing_.head = here();
    standing_.head_gone = false;
    contact_->counts = true;
    contact_->voting_until.reset();
    if (std::exchange(search_, std::nullopt))
      actions_.push_back(Warn{"the coordinator is at " + standing_.head + " now"});
  } else if (const auto* start = std::get_if<StartRound>(&order); start && start->epoch > 0) {
    standing_.epoch = start->epoch;
    note_round({{start->epoch, start->round}, start->group_world_size, true}, start->settled);
    standing_.head_seated = start->head_seated;
    successors_ = start->successors;
    extend_lease(start->lease_ms);
  } else if (const auto* spare = std::get_if<Spare>(&order); spare && spare->epoch > 0) {
    note_round({{spare->epoch, spare->round}, spare->nodes, false}, spare->settled);
  }
}

/// A node that was not in the settled round has to know of it, too: without its nodes nobody is
/// elected.
void GroupMachine::note_round(const KnownRound& started, KnownRound settled) {
  const KnownRound before = std::exchange(standing_.started, started);
  settled.member = false;
  for (const KnownRound& known : {before, started})
    if (known.name == settled.name) settled.member = known.member;
  note_settled(settled);
}

void GroupMachine::note_settled(const KnownRound& round) {
  if (round.name > standing_.settled.name) standing_.settled = round;
}

/// Nullopt: the workers may be alive as long as the connection lasts.
std::optional<TimePoint> GroupMachine::lease_ends() const {
  const bool has_lease = contact_ && contact_->counts && contact_->lease > TimePoint{};
  return has_lease && has_successors() ? std::optional{contact_->lease} : std::nullopt;
}

/// It is counted from when the last beat was sent that has been answered: the answer was not sent
/// earlier.
void GroupMachine::extend_lease(std::int64_t lease_ms) {
  if (lease_ms < 0) return;
  const auto most = rules_.heartbeat_timeout * 19 / 20;
  contact_->lease = std::max(contact_->lease,
                             contact_->sent + std::min<milliseconds>(milliseconds{lease_ms}, most));
}

/// The contact with the coordinator is over.
void GroupMachine::part(TimePoint now) {
  if (const auto ends = lease_ends()) fence_ = *ends;
  if (!fence_ && has_successors()) fence_ = now;
  if (contact_->echoed > TimePoint{})
    counted_until_ =
        std::max(counted_until_, contact_->echoed + rules_.heartbeat_timeout * 11 / 10);
  contact_.reset();
  hurry(now);
}

ReachCoordinator GroupMachine::reach_at(std::string place, Patience patience, TimePoint now) const {
  Standing standing = standing_;
  standing.running = coming_back_ ? round_ : 0;
  const auto counted = std::chrono::duration_cast<milliseconds>(counted_until_ - now);
  standing.fence_ms = std::max(counted, milliseconds{0}).count();
  return {patience, known_, milliseconds{0}, std::move(standing), std::move(place)};
}

/// The connection has ended, and perhaps nothing else: the workers run on while the coordinator is
/// tried again.
void GroupMachine::come_back(TimePoint now) {
  coming_back_ = true;
  const auto left = *fence_ - rules_.heartbeat_timeout / 5 - now;
  const auto time = std::max(std::chrono::duration_cast<milliseconds>(left), milliseconds{1});
  reaching_ = standing_.head == rules_.endpoint ? "" : standing_.head;
  actions_.push_back(reach_at(reaching_, {time, milliseconds{0}, time}, now));
}

/// The node is in its round as before, for as long as the lease was that it had, until an answer to
/// a beat makes it longer. What was told over the old connection may be lost.
void GroupMachine::resumed() {
  coming_back_ = false;
  if (const auto ends = std::exchange(fence_, std::nullopt)) contact_->lease = *ends;
  if (failed_) tell(*failed_);
  if (!failed_ && alive_ == 0 && state_ == State::kRunning) tell(WorkersFinished{round_});
}

void GroupMachine::unreachable(const CoordinatorUnreachable& event, TimePoint now) {
  if (std::exchange(coming_back_, false)) {
    standing_.head_gone = event.refused;
    return stop_and_search(event.reason, now);
  }
  if (search_ && !end_) {
    search_->refused = search_->refused && event.refused;
    search_->why = event.reason;
    return try_next(now);
  }
  const auto why = met_ ? AgentEnd::Why::kCoordinatorLost : AgentEnd::Why::kNoCoordinator;
  exit_with({why, {}, 0, event.reason}, SIGTERM, now);
}

void GroupMachine::stop_and_search(const std::string& reason, TimePoint now) {
  if (!held_end_)
    actions_.push_back(Warn{"lost the coordinator (" + reason +
                            "): stopping the workers of this node, then looking for the next one"});
  rejoining_ = true;
  if (state_ == State::kRunning) stop(SIGTERM, now);
  hurry(now);
  if (state_ == State::kIdle) after_sweep(now);
}

/// Workers that are being stopped have no more time than the fence leaves them.
void GroupMachine::hurry(TimePoint now) {
  const bool in_grace =
      state_ == State::kStopping && grace_ && grace_->what != Grace::For::kSigkill;
  if (!in_grace || !fence_) return;
  grace_->ends = std::min(grace_->ends, *fence_);
  if (now >= grace_->ends) kill(now);
}

namespace {

std::string why_in_vain(int nodes, milliseconds patience) {
  if (nodes < 3)
    return "the coordinator is lost, and of " + std::to_string(nodes) +
           " nodes the rest is no majority that could go on: that takes three nodes, or `ddprun "
           "server` on another machine";
  return "the coordinator is lost, and for " + std::to_string(patience.count() / 1000) +
         " s nobody had the votes of more than half of the " + std::to_string(nodes) + " nodes";
}

}  // namespace

/// The successors come first, in their order, so that all nodes meet at the same one.
void GroupMachine::search(TimePoint now) {
  search_ = Search{now, {}, 0};
  if (!first_place_.empty()) search_->places.push_back(std::exchange(first_place_, ""));
  if (rules_.has_referee) {
    search_->places.emplace_back();
  } else {
    for (const std::string& place : successors_) search_->places.push_back(place);
    search_->places.push_back(standing_.head);
  }
  try_next(now);
}

/// Of two nodes one is no majority, so the other is waited for only while it may be there.
void GroupMachine::try_next(TimePoint now) {
  if (rules_.has_referee) return try_referee(now);
  const int nodes = std::max(standing_.started.nodes, standing_.settled.nodes);
  const bool in_vain = nodes < 3 && search_->refused;
  const auto patience = in_vain ? rules_.heartbeat_timeout : rules_.join_timeout;
  if (now - search_->since >= patience)
    return exit_with({AgentEnd::Why::kCoordinatorLost, {}, 0, why_in_vain(nodes, patience)},
                     SIGTERM, now);
  const std::size_t tried = search_->next++;
  const auto& places = search_->places;
  const bool all_gone = search_->refused && tried >= places.size();
  if (held_end_ && (all_gone || now - search_->since >= rules_.heartbeat_timeout))
    return exit_as_told(now);
  reaching_ = places[tried % places.size()];
  ReachCoordinator wish = reach_at(reaching_, {kPlaceTimeout, milliseconds{0}, kPlaceTimeout}, now);
  const std::size_t times_around = tried / places.size();
  wish.pause = pause_before_joining();  // one that admits this node may be lost at once, each time
  if (times_around > 0)
    wish.pause = std::min(ConnectPlan::kFirstPause * (1 << std::min<std::size_t>(times_around, 7)),
                          ConnectPlan::kLongestPause);
  actions_.push_back(std::move(wish));
}

/// The referee knows where the coordinator is, so there is one attempt for all the time.
void GroupMachine::try_referee(TimePoint now) {
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
  if (tried > 1)
    wish.pause = std::min(ConnectPlan::kFirstPause * (1 << std::min<std::size_t>(tried, 7)),
                          ConnectPlan::kLongestPause);
  actions_.push_back(std::move(wish));
}

/// Who listens there does not lead on.
void GroupMachine::give_up_candidate(TimePoint now) {
  actions_.push_back(Disconnect{});
  part(now);
  if (end_) return;
  if (coming_back_) {
    coming_back_ = false;
    return stop_and_search("it does not know this node any more", now);
  }
  if (!search_) return search(now);
  try_next(now);
}

void GroupMachine::promise(const Elect& order, TimePoint now) {
  if (order.epoch <= standing_.promised) return;
  standing_.promised = order.epoch;
  contact_->counts = true;
  contact_->echoed = now;
  tell(Promise{order.epoch, order.clock_us});
}

void GroupMachine::go_elsewhere(const Elsewhere& order, TimePoint now) {
  actions_.push_back(Disconnect{});
  first_place_ = order.coordinator.empty() ? here() : order.coordinator;
  part(now);
  if (end_) return;
  coming_back_ = false;
  search_.reset();
  stop_and_search("it is at " + first_place_ + " now", now);
}

}  // namespace ddprun
