#include "rendezvous/rounds/in_place.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace ddprun {

bool InPlace::may_stay() const {
  using Phase = Roster::Phase;
  if (job_.verdict || changes_in_vain() >= kChangesInPlaceMax) return false;
  const int others = nodes_.count(Phase::kFinished) + nodes_.count(Phase::kStopping);
  return nodes_.staying() > 0 && nodes_.staying() == nodes_.count(Phase::kRunning) && others == 0;
}

void InPlace::stop(StopRound& order, bool nobody_is_lost) {
  order.keep = may_stay();
  order.gently = order.keep && nobody_is_lost;
  if (order.gently) at_step_.begin(order);
  if (!order.keep) return;
  changes_ = changes_in_vain() + 1;
  changed_at_ = job_.step_since_start;
}

void InPlace::begin_round(bool stayed) {
  newcomers_at_.clear();
  joins_by_.reset();
  waited_ = false;
  stayed_ = stayed;
  if (stayed) return;
  changes_ = 0;
  changed_at_ = -1;
}

void InPlace::stopped(Roster::Node& node, const ParkedWorkers& parked) {
  node.seats.park(parked);
  if (node.seats.parked().workers.empty()) node.seats.begin_preparation();
  at_step_.stopped(node);
}

bool InPlace::fits_parked(const std::vector<Roster::Node*>& members) {
  int world_size = 0;
  for (const Roster::Node* const node : members) world_size += node->seats.taken_next();
  return std::ranges::all_of(members, [world_size](const Roster::Node* node) {
    const auto& [workers, needed] = node->seats.parked();
    return workers.empty() || needed == 0 || needed == world_size;
  });
}

bool InPlace::prepare(Roster::Node& node, Spare waits) {
  if (node.seats.preparation() == Seats::Preparation::kDone || !(stayed_ || may_stay()))
    return false;
  node.seats.begin_preparation();
  ask_to_prepare(node, std::move(waits));
  return true;
}

void InPlace::ask_to_prepare(const Roster::Node& node, Spare waits) {
  StartRound place{.round = waits.round + 1,
                   .attempt = waits.attempt,
                   .group_rank = 0,
                   .master_addr = rules_.master_addr,
                   .master_port = rules_.master_port};
  nodes_.for_each([&](const Roster::Node& member) {
    if (!member.is_in_round()) return;
    ++place.group_rank;
    place.first_rank += member.seats.taken();
    if (member.join.role == node.join.role) place.first_role_rank += member.seats.taken();
  });
  place.group_world_size = place.group_rank + 1;
  place.world_size = place.first_rank + node.join.workers;
  place.role_world_size = place.first_role_rank + node.join.workers;
  out_.send(node.peer(), Prepare{std::move(waits), std::move(place)});
}

bool InPlace::waits_to_join(const Roster::Node& node, TimePoint now) {
  const bool prepared = node.seats.preparation() == Seats::Preparation::kDone;
  if (!prepared || !stayed_ || waited_ || may_stay()) return false;
  if (!joins_by_) joins_by_ = now + kJoinPatience;
  return true;
}

bool InPlace::end_wait(TimePoint now) {
  if (!joins_by_ || (now < *joins_by_ && !may_stay())) return false;
  joins_by_.reset();
  waited_ = !may_stay();
  return true;
}

std::optional<Failures::Stop> InPlace::fill_seats() const {
  if (newcomers_at_.empty() || !may_stay()) return std::nullopt;
  return Failures::Stop{
      .reason = "node " + newcomers_at_ + " has started another worker for each that it lost",
      .nobody_is_lost = true};
}

void StopAtStep::begin(const StopRound& gently) {
  state_ = State::kHold;
  at_once_ = gently;
  at_once_.gently = false;
  at_once_.reason = "not all workers could leave behind one step";
  held_.clear();
}

void StopAtStep::held(const Roster::Node& node, const Holding& report) {
  if (report.round != at_once_.round || node.phase() != Roster::Phase::kStopping) return;
  if (report.step < 0) return broken();
  if (state_ != State::kHold) return;
  held_[node.id()] = report.step;
  if (held_.size() < static_cast<std::size_t>(nodes_.count(Roster::Phase::kStopping))) return;
  state_ = State::kLastStep;
  const auto most =
      std::ranges::max_element(held_, {}, [](const auto& told) { return told.second; });
  out_.send_to_stopping(nodes_, LeaveAfter{report.round, most->second + 1});
}

/// Where a worker is lost the others of its node leave at once, and so do their peers.
void StopAtStep::stopped(const Roster::Node& node) {
  const bool in_order =
      state_ == State::kLastStep && std::ssize(node.seats.parked().workers) >= node.seats.taken();
  if (!in_order) broken();
}

void StopAtStep::broken() {
  if (std::exchange(state_, State::kNone) != State::kNone) out_.send_to_stopping(nodes_, at_once_);
}

}  // namespace ddprun
