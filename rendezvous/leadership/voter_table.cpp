#include "rendezvous/leadership/voter_table.hpp"

#include <algorithm>
#include <utility>

namespace ddprun {

Voter& VoterTable::put(Voter voter) {
  remove(voter.id);
  Voter& kept = voters_[voter.id];
  kept = std::move(voter);
  count(kept, 1);
  return kept;
}

void VoterTable::remove(const NodeId& id) {
  const auto found = voters_.find(id);
  if (found == voters_.end()) return;
  count(found->second, -1);
  voters_.erase(found);
}

Voter* VoterTable::find(const NodeId& id) {
  const auto found = voters_.find(id);
  return found == voters_.end() ? nullptr : &found->second;
}

const Voter* VoterTable::find(const NodeId& id) const {
  const auto found = voters_.find(id);
  return found == voters_.end() ? nullptr : &found->second;
}

void VoterTable::set_stance(Voter& voter, Stance stance) {
  count(voter, -1);
  voter.stance = stance;
  count(voter, 1);
}

void VoterTable::make_voter(Voter& voter) {
  count(voter, -1);
  voter.is_voter = true;
  count(voter, 1);
}

bool VoterTable::all_connected() const {
  return std::ranges::all_of(voters_, [](const auto& entry) { return entry.second.connected; });
}

bool VoterTable::can_be_probed(const NodeId& id) const {
  const Voter* const voter = find(id);
  return voter != nullptr && !voter->standby.empty();
}

void VoterTable::count(const Voter& voter, int by) {
  if (!voter.is_voter) return;
  if (voter.stance == Stance::kUndecided)
    undecided_ += by;
  else
    (voter.witness ? witnesses_following_ : nodes_following_) += by;
}

}  // namespace ddprun
