// The part of CoordinatorMachine for jobs with a referee (etcd) that decides who coordinates: when
// this coordinator may begin a round, and for how long it may go on. docs/protocol.md, section
// "etcd as the referee", says why two never both go on.

#include <algorithm>
#include <utility>

#include "rendezvous/rounds/round_machine.hpp"
#include "rendezvous/rounds/seats.hpp"

namespace ddprun {

namespace {

using Phase = Roster::Phase;
using Node = Roster::Node;

/// With fewer nodes nobody but the new coordinator itself has seen that the one before is dead.
constexpr std::size_t kWitnessesMin = 3;

}  // namespace

/// A coordinator whose lease has ended in between gets another one. Unless somebody else has
/// written down a world meanwhile, nobody has begun anything.
void CoordinatorMachine::elected(const Elected& event, TimePoint now) {
  if (state_ == State::kEnded) return;
  const bool own =
      event.world_epoch == 0 || event.world_epoch == epoch_ || event.world_epoch == world_epoch_;
  if (coordinates() && own) {
    if (event.world_epoch > 0) world_epoch_ = event.world_epoch;
    epoch_ = event.epoch;
    return;
  }
  if (coordinates()) step_down({event.epoch, rules_.endpoint});
  state_ = State::kGathering;
  gathering_since_ = now;
  epoch_ = event.epoch;
  last_world_ = {event.world.begin(), event.world.end()};
  last_world_epoch_ = event.world_epoch;
  elected_ = !last_world_.empty();
  if (event.by_death) fences_end_ = std::max(fences_end_, now + rules_.heartbeat_timeout);
  verdict_ = event.verdict;
  nodes_.for_each([&](Node& node) {
    if (obeys(node)) take_on(node, now);
  });
}

void CoordinatorMachine::world_begun(const WorldBegun& event) {
  if (!coordinates() || event.nodes != asked_world_) return;
  world_ = event.nodes;
  world_epoch_ = epoch_;
}

/// Its coordinator counts on it for less time than the referee keeps it.
void CoordinatorMachine::world_gone() {
  last_world_.clear();
  elected_ = false;
}

/// As long as the referee says so, and beyond that while all nodes of the round obey: nobody else
/// begins a round without one of them.
TimePoint CoordinatorMachine::held_by_referee() const {
  const TimePoint all_obey = quorum_.exists() ? held_until(quorum_.proposed, left_) : TimePoint{};
  return std::max(held_.alone, std::min(held_.world, all_obey));
}

/// A round begins when it is written down who may have workers. Until that is known, it may be what
/// was asked for or what was there before.
bool CoordinatorMachine::may_begin_by_referee(TimePoint now) {
  if (!has_authority(now) || !last_world_is_gone(now)) return false;
  std::vector<NodeId> nodes;
  for (const Node* node : choose_members(nodes_, rules_.nodes_max)) nodes.push_back(node->id());
  std::ranges::sort(nodes);
  if (nodes == world_) return true;
  if (nodes == asked_world_) return false;
  world_.clear();
  asked_world_ = nodes;
  actions_.push_back(BeginWorld{std::move(nodes)});
  return false;
}

/// Whether no worker of the world that somebody else has written down can be alive. A coordinator
/// that does not reach the referee goes on while all nodes of that world obey it. So one of them
/// has to be here: it says until when the other one may count on it.
bool CoordinatorMachine::last_world_is_gone(TimePoint now) const {
  if (!elected_) return true;
  std::size_t here = 0;
  bool head_is_dead = true;
  bool head_was_seated = false;
  nodes_.for_each([&](const Node& node) {
    if (node.phase() != Phase::kReady || !last_world_.contains(node.id())) return;
    const VoterState& voter = node.join.voter;
    ++here;
    if (!voter.leader_dead || voter.epoch != last_world_epoch_) head_is_dead = false;
    if (voter.leader_is_member) head_was_seated = true;
  });
  if (here == 0) return false;
  if (now >= fences_end_) return true;
  const std::size_t missing = last_world_.size() - here;
  return last_world_.size() >= kWitnessesMin && head_is_dead &&
         missing <= (head_was_seated ? 1U : 0U);
}

}  // namespace ddprun
