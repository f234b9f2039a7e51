// The part of AgentMachine that decides what the user's signals do, and the scheduler's.

#include <algorithm>

#include "agent/group_machine.hpp"

namespace ddprun {

void AgentMachine::request_stop(int signal, TimePoint now) {
  if (stop_requests_.count > 0 && now - stop_requests_.last < kOneRequest) return;
  stop_requests_.last = now;
  const bool killed = grace_ && grace_->what == Grace::For::kSigkill;
  switch (++stop_requests_.count) {
    case 1:
      return exit_with({AgentEnd::Why::kStopSignal, {}, signal, ""}, signal, now);
    case 2:
      if (grace_ && !killed) grace_->ends = std::min(grace_->ends, now + kShortGrace);
      return;
    default:
      if (grace_ && !killed) end_grace(now);
  }
}

/// The whole job has to end, so that it can go on later: the coordinator tells all nodes.
void AgentMachine::announce_end(int signal, TimePoint now) {
  const std::string reason = signal_name(signal) + " announces the end of this run";
  const bool soon_there = coming_back_ || ((search_ || rejoining_) && has_successors());
  if (!contact_ && !soon_there)  // nobody is there to end it together with
    return exit_with(
        {AgentEnd::Why::kJobEnded, {EndJob::Outcome::kPreempted, 0, reason, {}}, 0, ""}, SIGTERM,
        now);
  const bool again = announced_ && now - announced_->came >= kOneAnnouncement;
  if (again && signal == SIGTERM) return request_stop(signal, now);
  if (announced_) return;
  const auto time = signal == SIGTERM ? std::min(rules_.preempt_timeout, kCheckpointAfterSigterm)
                                      : rules_.preempt_timeout;
  announced_ = {now, now + time, reason};
  tell_of_end(now);  // or when it has joined again
}

void AgentMachine::tell_of_end(TimePoint now) {
  using std::chrono::milliseconds;
  const auto left = std::chrono::duration_cast<milliseconds>(announced_->ends - now);
  tell(Preempt{announced_->reason, std::max(left, milliseconds{1}).count()});
}

/// Workers may end by themselves once they have written it, with whatever code.
void AgentMachine::stop_after_checkpoint(std::chrono::milliseconds time, TimePoint now) {
  state_ = State::kStopping;
  if (alive_ == 0) return sweep();
  actions_.push_back(AskForCheckpoint{rules_.checkpoint_signal});
  grace_ = Grace{Grace::For::kCheckpoint, now + time};
}

}  // namespace ddprun
