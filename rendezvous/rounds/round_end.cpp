// The part of CoordinatorMachine that decides how a job ends.

#include <algorithm>
#include <utility>

#include "rendezvous/rounds/round_machine.hpp"

namespace ddprun {

using Node = Roster::Node;

/// What agents are told, so that the failure that stops the round counts even if this coordinator
/// does not live to the next one.
int CoordinatorMachine::next_attempt() const {
  const bool failed = verdict_ && is_failure(verdict_->outcome);
  return failed ? attempt_ + 1 : attempt_;
}

/// Goes on from what the members of the next round know of the job: after a coordinator that is
/// gone, of its rounds and attempts. Only members are believed, because they can spend the restarts
/// anyway. Returns the verdict when there is to be no next round.
std::optional<EndJob> CoordinatorMachine::go_on_from(const std::vector<Node*>& members) {
  for (const Node* member : members) {
    round_ = std::max(round_, member->join.counters.round);
    attempt_ = std::max(attempt_, member->join.counters.attempt);
    if (member->announced)
      return EndJob{EndJob::Outcome::kPreempted, attempt_, member->announced->reason, {}};
  }
  if (attempt_ <= rules_.restarts_max) return std::nullopt;
  return EndJob{EndJob::Outcome::kFailed,
                rules_.restarts_max,
                "the last attempt has failed, and the coordinator that knew why is gone",
                {}};
}

void CoordinatorMachine::end(EndJob verdict) {
  tell_times(last_step_);
  state_ = State::kEnded;
  chronicle_.stopped("", last_step_);
  tell_verdict(verdict);
  EndJob held = verdict;
  held.held = true;
  nodes_.for_each([&](Node& node) {
    node.owes_answer = is_held(verdict);
    if (node.owes_answer) ++unheard_;
    send(node.peer(), node.owes_answer ? held : verdict);
  });
  if (rules_.has_referee) actions_.push_back(TellVerdict{verdict});
  verdict_ = std::move(verdict);
  if (unheard_ == 0) return;
  state_ = State::kEnding;
  ending_ends_ = last_step_ + kEndingPatience;
}

/// Whoever follows this coordinator, should it be lost now, is to end the job in the same way. That
/// nodes have not come in time may be known on one side of a cut only.
bool CoordinatorMachine::is_held(const EndJob& verdict) const {
  return rules_.has_successors && verdict.outcome != EndJob::Outcome::kTooFewNodes;
}

void CoordinatorMachine::end_heard(Node& node) {
  if (std::exchange(node.owes_answer, false)) --unheard_;
}

void CoordinatorMachine::dismiss() {
  state_ = State::kEnded;
  nodes_.for_each([&](const Node& node) { send(node.peer(), Dismiss{}); });
}

/// A coordinator that has been elected ends the job as the one before had, unless it has begun a
/// round before it heard of that.
void CoordinatorMachine::take_testament(Node& node, const FinalStatus& message) {
  node.testament = message.end;
  node.testament->held = false;
  if (state_ == State::kGathering && elected_ && !verdict_) verdict_ = testament();
}

/// Of a node that knows the last round: with an earlier one the end is of no account.
std::optional<EndJob> CoordinatorMachine::testament() const {
  std::optional<EndJob> found;
  nodes_.for_each([&](const Node& node) {
    const VoterState& voter = node.join.voter;
    const bool counts = rules_.has_referee ? last_world_.contains(node.id()) &&
                                                 voter.proposed.version.epoch >= last_world_epoch_
                                           : voter.proposed.version == quorum_.proposed.version;
    if (node.testament && counts) found = node.testament;
  });
  return found;
}

/// Says why the last round failed, where the job ends because of that. It ends with the failure of
/// the cause, and not with the first that happened to be told.
void CoordinatorMachine::tell_verdict(EndJob& end) {
  const bool failed = is_failure(end.outcome);
  if (!found_ || !(failed || end.outcome == EndJob::Outcome::kTooFewNodes)) return;
  if (failed && end.failure) end.failure = inquest_.failure_of_cause().value_or(*end.failure);
  send_to_nodes(VerdictFound{*found_});
}

EndJob CoordinatorMachine::timed_out() const {
  std::string message = "waited " + std::to_string(rules_.join_timeout.count() / 1000) +
                        " s for nodes: " + std::to_string(nodes_.count(Phase::kReady)) +
                        " there, " + std::to_string(nodes_needed()) + " needed";
  if (!last_loss_.empty()) message += " (" + last_loss_ + ")";
  return {EndJob::Outcome::kTooFewNodes, attempt_, std::move(message), {}};
}

}  // namespace ddprun
