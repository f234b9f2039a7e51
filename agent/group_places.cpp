// The part of AgentMachine that decides where a newcomer looks for the coordinator, in a job that
// has several places for it: docs/protocol.md, section "Several places".

#include <algorithm>
#include <utility>

#include "agent/group_machine.hpp"

namespace ddprun {

using std::chrono::milliseconds;

/// It knows nobody yet who could tell where the coordinator is.
void AgentMachine::look_around(TimePoint now) {
  search_ = Search{now, rules_.places};
  if (search_->places.empty()) search_->places.push_back(rules_.endpoint);
  search_->note_due = now + ConnectPlan::kFirstNote;
  try_next_place(now);
}

/// One place after the other, with a pause after the last one. Where somebody has told of the
/// coordinator, that comes first.
void AgentMachine::try_next_place(TimePoint now) {
  const bool gone = search_->refused && met_;
  const milliseconds patience = gone ? rules_.heartbeat_timeout : rules_.join_timeout;
  if (now - search_->since >= patience)
    return exit_with({met_ ? AgentEnd::Why::kCoordinatorLost : AgentEnd::Why::kNoCoordinator,
                      {},
                      0,
                      found_at_places()},
                     SIGTERM, now);
  note_long_search(now);
  milliseconds pause{0};
  reaching_ = std::exchange(first_place_, "");
  if (reaching_.empty()) {
    const std::size_t tried = search_->next++;
    const std::size_t places = search_->places.size();
    reaching_ = search_->places[tried % places];
    const std::size_t times_around = tried / places;
    const bool new_turn = times_around > 0 && tried % places == 0;
    if (new_turn) {
      search_->told_epoch = 0;
      pause = ConnectPlan::pause_number(times_around - 1);
    }
  }
  ReachCoordinator wish = reach_at(reaching_, {kPlaceTimeout, milliseconds{0}, kPlaceTimeout}, now);
  wish.pause = std::max(pause, pause_before_joining());
  actions_.push_back(std::move(wish));
}

/// Somebody tells where the coordinator is. Two whose news are old might send a newcomer to and
/// fro, so it follows only to a later coordinator than the one that it was told of before.
void AgentMachine::follow(const Redirect& order, TimePoint now) {
  part(now);
  if (end_) return;
  found_at_place("the coordinator is not at " + reaching_ + ", but at " + order.coordinator);
  const std::int64_t told_before = search_ ? search_->told_epoch : 0;
  if (order.epoch > told_before) first_place_ = order.coordinator;
  if (!search_) return look_around(now);
  search_->told_epoch = std::max(told_before, order.epoch);
  try_next_place(now);
}

void AgentMachine::found_at_place(std::string what) {
  if (search_ && !reaching_.empty()) search_->found[reaching_] = std::move(what);
}

/// In the order of the places; what was found where somebody has sent this node is not told.
std::string AgentMachine::found_at_places() const {
  std::string text;
  for (const std::string& place : search_->places) {
    const auto found = search_->found.find(place);
    if (found != search_->found.end()) text += (text.empty() ? "" : "; ") + found->second;
  }
  return "nobody coordinates the job: " + text;
}

void AgentMachine::note_long_search(TimePoint now) {
  if (now < search_->note_due) return;
  search_->note_due = now + ConnectPlan::kNoteInterval;
  const auto left =
      std::chrono::ceil<std::chrono::seconds>(search_->since + rules_.join_timeout - now);
  actions_.push_back(
      Warn{found_at_places() + "; giving up in " + std::to_string(left.count()) + " s"});
}

/// What stands by in this process sends newcomers to the coordinator that this agent obeys.
void AgentMachine::tell_standby() {
  const bool obeys = state_ != State::kExited && contact_ && contact_->counts && contact_->beat_due;
  const std::int64_t epoch = has_successors() ? voter_.epoch : 0;
  const bool knows_where = obeys && epoch > 0;
  if (told_.epoch == epoch && told_.coordinator.empty() != knows_where &&
      (!knows_where || told_.coordinator == voter_.leader))
    return;
  told_ = {epoch, knows_where ? voter_.leader : ""};
  actions_.push_back(TellStandby{told_});
}

}  // namespace ddprun
