// The part of CoordinatorMachine that decides for how long this coordinator may give orders, and
// when a round of its may begin: two coordinators never both go on. docs/protocol.md, sections "Who
// may give orders" and "When the workers of before are gone".

#include <algorithm>
#include <functional>
#include <vector>

#include "rendezvous/rounds/round_machine.hpp"

namespace ddprun {

namespace {

using Phase = Roster::Phase;
using Node = Roster::Node;
using std::chrono::milliseconds;

/// So long passes between two looks at all nodes, for each of them. A look takes about a tenth.
constexpr std::chrono::microseconds kLookAtNode{5};

}  // namespace

Votes CoordinatorMachine::votes_of(const std::function<bool(const Node&)>& counts) const {
  Votes votes;
  nodes_.for_each([&](const Node& node) {
    if (counts(node)) quorum_.count(votes, node.join.voter);
  });
  return votes;
}

/// Until when nobody else can have been elected: that takes more than half of the nodes, and at
/// least half obey this coordinator. One that has heard an answer of ours, and has said so, does
/// for a heartbeat timeout after that was said. It counts on us a tenth longer: that is for the
/// order to stop, and for the workers to end.
TimePoint CoordinatorMachine::authority_ends() const {
  if (rules_.has_referee) return held_by_referee();
  if (!rules_.has_successors || !quorum_.exists()) return TimePoint::max();
  const TimePoint ends = held_until(quorum_.committed, left_);
  const bool needs_both = elected_ && quorum_.is_joint();
  return needs_both ? std::min(ends, held_until(quorum_.proposed, 0)) : ends;
}

/// So many nodes of `round` must obey this coordinator, when `left` of them have left for good.
int CoordinatorMachine::votes_needed(const Configuration& round, int left) const {
  if (rules_.has_referee) return round.voters - left;
  return (elected_ ? votes_to_win(round.voters) : votes_to_stay(round.voters)) - left;
}

/// So many nodes must be there before a round begins, as far as it can be said in one number.
int CoordinatorMachine::nodes_needed() const {
  if (!rules_.has_successors || rules_.has_referee || !quorum_.exists()) return rules_.nodes_min;
  const int witnesses = nodes_.count(Phase::kWitnessing);
  return std::max(rules_.nodes_min, votes_needed(quorum_.committed, left_) - witnesses);
}

/// The time at which this coordinator loses the votes that it needs of the nodes of `round`.
TimePoint CoordinatorMachine::held_until(const Configuration& round, int left) const {
  std::vector<TimePoint> confirmed;
  nodes_.for_each([&](const Node& node) {
    const bool obeys_us = node.phase() != Phase::kVoting && node.has_voice();
    if (obeys_us && ddprun::is_member(node.join.voter, round.version))
      confirmed.push_back(node.confirmed);
  });
  const int needed = votes_needed(round, left);
  if (needed <= 0) return TimePoint::max();
  if (std::ssize(confirmed) < needed) return {};
  std::ranges::nth_element(confirmed, confirmed.begin() + needed - 1, std::greater{});
  return confirmed[static_cast<std::size_t>(needed - 1)] + rules_.heartbeat_timeout;
}

bool CoordinatorMachine::has_authority(TimePoint now) const { return now < authority_ends(); }

std::int64_t CoordinatorMachine::lease_ms(TimePoint now) const {
  if (rules_.hosted) return rules_.heartbeat_timeout.count();
  if (!rules_.has_successors) return -1;
  const auto whole = rules_.heartbeat_timeout;
  if (authority_until_ >= now + whole) return whole.count();
  const auto left = std::chrono::duration_cast<milliseconds>(authority_until_ - now);
  return std::max(left, milliseconds{0}).count();
}

/// Without authority nothing of this coordinator's may go on: others may begin a round.
void CoordinatorMachine::check_authority(TimePoint now) {
  if (!rules_.has_successors || now < authority_due_) return;
  authority_until_ = authority_ends();
  authority_due_ = std::min(now + rules_.heartbeat_timeout / 20, std::max(authority_until_, now));
  if (now < authority_until_) return;
  authority_due_ = now + rules_.heartbeat_timeout / 20;
  if (state_ == State::kRunning) {
    stopped_at_once_ = true;
    stop_round("too few nodes are heard: others may have a new coordinator", 0, true);
  } else if (state_ == State::kStopping && !stopped_at_once_) {
    stopped_at_once_ = true;
    nodes_.for_each([&](const Node& node) {
      if (node.phase() == Phase::kStopping)
        send(node.peer(), StopRound{round_, "too few nodes are heard", 0, next_attempt(), true});
    });
  }
}

/// Looking at all nodes takes a while when there are thousands of them, so it is not done for each
/// word that one of them says.
bool CoordinatorMachine::reigns(TimePoint now) {
  if (!rules_.has_successors) return true;
  passed_over_ = now < may_begin_due_;
  if (passed_over_) return false;
  if (has_authority(now)) return true;
  may_begin_due_ = now + kLookAtNode * static_cast<int>(nodes_.size());
  return false;
}

bool CoordinatorMachine::may_begin(TimePoint now) {
  if (workers_may_be_left(now) || !reigns(now)) return false;
  if (rules_.has_referee ? may_begin_by_referee(now) : old_world_is_gone(now)) return true;
  may_begin_due_ = now + kLookAtNode * static_cast<int>(nodes_.size());
  return false;
}

/// Nodes whose connections have ended may have gone over to another coordinator, and do the work
/// again. They come back, or are lost, and perhaps with them the authority.
bool CoordinatorMachine::may_finish(TimePoint now) {
  if (returning_ && !returning_->absent.empty()) return false;
  bool away = false;
  if (rules_.has_successors) nodes_.for_each([&](const Node& node) { away |= node.away; });
  return !away && reigns(now) && witness_knows_round();
}

/// On the smaller side of a cut the job has not ended: others may go on with it.
bool CoordinatorMachine::may_end(TimePoint now) {
  return (reigns(now) && witness_knows_round()) || now >= gathering_ends();
}

/// Whether no worker of the rounds before can be alive, when this coordinator has been elected.
/// Those who have seen that the one before is dead have heard all that it had told them: if it had
/// begun a round with others, one of them would know.
bool CoordinatorMachine::old_world_is_gone(TimePoint now) const {
  if (!elected_ || now >= fences_end_) return true;
  if (forgotten_) return false;  // nodes that are not here may have workers of that round
  const auto ready = [&](const Node& node) { return has_to_know(node); };
  const int missing = quorum_.missing(votes_of(ready));
  return head_is_dead() && missing <= (head_was_seated() ? 1 : 0);
}

/// Whether the coordinator that is lost was itself a node of the settled round, and may be the only
/// one that is missing of it. A node that waited beside the round only knows how it was before. Of
/// a round that has not settled too little is known.
bool CoordinatorMachine::head_was_seated() const {
  if (quorum_.is_joint()) return false;
  bool seated = false;
  bool all = true;
  nodes_.for_each([&](const Node& node) {
    const VoterState& voter = node.join.voter;
    if (node.phase() != Phase::kReady || !ddprun::is_member(voter, quorum_.committed.version))
      return;
    if (voter.leader_is_member)
      seated = true;
    else
      all = false;
  });
  return seated && all;
}

/// Whether all of the last rounds who are here have found that their coordinator's process is gone,
/// and had not lost it before.
bool CoordinatorMachine::head_is_dead() const {
  bool all = true;
  nodes_.for_each([&](const Node& node) {
    const VoterState& voter = node.join.voter;
    const bool counts = (node.phase() == Phase::kReady || node.phase() == Phase::kVoting) &&
                        !node.join.witness;  // it has no way to know that
    if (counts && voter.proposed.version.round > 0 && !voter.leader_dead) all = false;
  });
  return all;
}

/// All but the coordinator that is lost may come.
bool CoordinatorMachine::waits_for_voters(TimePoint now) const {
  if (!elected_) return false;
  if (nodes_.count(Phase::kVoting) > 0 && now < gathering_since_ + kPromisePatience) return true;
  const int expected = std::max(quorum_.committed.voters, quorum_.proposed.voters) - 1;
  const int witnesses = nodes_.count(Phase::kWitnessing);
  return nodes_.count(Phase::kReady) < std::min(expected - witnesses, rules_.nodes_max) &&
         now < std::min(last_came_ + kArrivalPause, gathering_since_ + kArrivalsMax);
}

/// An agent that echoes what was said at some time had not given this coordinator up then.
void CoordinatorMachine::confirm(Node& node, std::int64_t echo_us, TimePoint now) {
  const TimePoint heard{std::chrono::microseconds{echo_us}};
  if (echo_us > 0 && heard <= now) node.confirmed = std::max(node.confirmed, heard);
}

}  // namespace ddprun
