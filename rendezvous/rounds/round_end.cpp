// The part of RoundMachine that decides how a job ends.

#include <algorithm>
#include <utility>

#include "rendezvous/rounds/round_machine.hpp"

namespace ddprun {

/// What agents are told, so that the failure that stops the round counts even if this coordinator
/// does not live to the next one.
int RoundMachine::next_attempt() const {
  const bool failed = verdict_ && verdict_->outcome == EndJob::Outcome::kFailed;
  return failed ? attempt_ + 1 : attempt_;
}

/// Goes on from what the members of the next round know of the job: after a coordinator that is
/// gone, of its rounds and attempts. Only members are believed, because they can spend the restarts
/// anyway. Returns the verdict when there is to be no next round.
std::optional<EndJob> RoundMachine::go_on_from(const std::vector<Node*>& members) {
  for (const Node* member : members) {
    round_ = std::max(round_, member->join.known.round);
    attempt_ = std::max(attempt_, member->join.known.attempt);
    if (member->announced)
      return EndJob{EndJob::Outcome::kPreempted, attempt_, member->announced->reason, {}};
  }
  if (attempt_ <= rules_.restarts_max) return std::nullopt;
  return EndJob{EndJob::Outcome::kFailed,
                rules_.restarts_max,
                "the last attempt has failed, and the coordinator that knew why is gone",
                {}};
}

void RoundMachine::end(EndJob verdict) {
  tell_times(last_step_);
  state_ = State::kEnded;
  chronicle_.stopped("", last_step_);
  tell_verdict(verdict);
  nodes_.for_each([&](const Node& node) { send(node.peer(), verdict); });
  if (rules_.has_referee) actions_.push_back(TellVerdict{verdict});
  verdict_ = std::move(verdict);
}

/// Says why the last round failed, where the job ends because of that. It ends with the failure of
/// the cause, and not with the first that happened to be told.
void RoundMachine::tell_verdict(EndJob& end) {
  const bool failed = end.outcome == EndJob::Outcome::kFailed;
  if (!found_ || !(failed || end.outcome == EndJob::Outcome::kTimedOut)) return;
  if (failed && end.failure) end.failure = inquest_.failure_of_cause().value_or(*end.failure);
  send_to_all_who_know(kKnowsVerdict, VerdictFound{*found_});
}

EndJob RoundMachine::timed_out() const {
  std::string message = "waited " + std::to_string(rules_.join_timeout.count() / 1000) +
                        " s for nodes: " + std::to_string(nodes_.count(Phase::kReady)) +
                        " there, " + std::to_string(nodes_needed()) + " needed";
  if (!last_loss_.empty()) message += " (" + last_loss_ + ")";
  return {EndJob::Outcome::kTimedOut, attempt_, std::move(message), {}};
}

}  // namespace ddprun
