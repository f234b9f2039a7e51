// The part of CoordinatorMachine that decides what becomes of those who come where the coordinator
// is not, in a job whose coordinator may be at several places: docs/protocol.md, section "Several
// places".

#include <set>
#include <utility>
#include <vector>

#include "rendezvous/rounds/round_machine.hpp"

namespace ddprun {

using Phase = Roster::Phase;
using Node = Roster::Node;

std::vector<std::string> CoordinatorMachine::places_to_ask() const {
  std::vector<std::string> places{rules_.places.begin() + 1, rules_.places.end()};
  if (!told_.coordinator.empty()) places.push_back(told_.coordinator);
  return places;
}

/// A job that has no round yet has nobody who could vote, so one alone may begin it: the first of
/// its places. That may be a machine that was started again, of a job which goes on elsewhere. So
/// it begins only when nobody at the other places knows of a coordinator. Who is silent knows none,
/// until somebody has told of one. A witness that has not heard its coordinator for long tells
/// where that one was, and no epoch.
void CoordinatorMachine::looked_around(const LeadersFound& seen, TimePoint now) {
  if (!may_begin_job()) return;
  if (seen.leader.epoch > 0) {
    const std::string before = told_.coordinator;
    told_ = seen.leader;
    if (told_.coordinator.empty()) told_.coordinator = before;
  } else if (!seen.leader.coordinator.empty() && told_.coordinator != seen.leader.coordinator) {
    told_.coordinator = seen.leader.coordinator;  // one was there: it is asked itself next
  } else if (told_ == Leader{} || seen.all) {
    begin_job(now);
  }
}

void CoordinatorMachine::begin_job(TimePoint now) {
  may_begin_job_ = false;
  state_ = State::kGathering;
  gathering_since_ = now;
  epoch_ = rules_.has_successors ? 1 : 0;
  std::vector<Node*> waiting;
  nodes_.for_each([&](Node& node) {
    if (node.phase() == Phase::kVoting) waiting.push_back(&node);
  });
  for (Node* const node : waiting) {
    if (!obeys(*node)) {
      call_election(*node);
      continue;
    }
    let_in(*node, joined_answer(*node, now), now);
    nodes_.set_phase(*node, node->join.witness ? Phase::kWitnessing : Phase::kReady);
  }
}

Leader CoordinatorMachine::leader() const {
  if (!coordinates()) return leader_;
  return round_ > 0 ? Leader{epoch_, rules_.endpoint} : Leader{};
}

/// Whether the agent in this process obeys a coordinator that the newcomer does not know yet. Those
/// who have lost that very coordinator are no newcomers: they come for a vote.
bool CoordinatorMachine::knows_better(const Join& join) const {
  const VoterState& voter = join.voter;
  return !coordinates() && !leader_.coordinator.empty() && leader_.epoch > voter.promised &&
         voter.running == 0;
}

void CoordinatorMachine::send_to_leader(PeerId peer) {
  send(peer, Redirect{leader_.coordinator, leader_.epoch});
  actions_.push_back(DropPeer{peer, "the coordinator is at " + leader_.coordinator});
}

/// Where somebody may take himself for the coordinator: those of before are there, and at the job's
/// places one may have been started again.
std::vector<std::string> CoordinatorMachine::heralded() const {
  std::set<std::string> places{rules_.places.begin(), rules_.places.end()};
  nodes_.for_each([&](const Node& node) { places.insert(node.join.voter.leader); });
  places.erase("");
  places.erase(rules_.endpoint);
  return {places.begin(), places.end()};
}

}  // namespace ddprun
