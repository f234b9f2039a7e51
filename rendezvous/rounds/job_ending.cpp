#include "rendezvous/rounds/job_ending.hpp"

#include <csignal>
#include <utility>

namespace ddprun {

void JobEnding::begin(const EndJob& verdict, bool held, bool all_here, const Roster& nodes,
                      Outbox& out, TimePoint now) {
  nodes.for_each([&](const Roster::Node& node) {
    if (held) return tell(node, verdict, out);
    unaware_.erase(node.id());
    out.send(node.peer(), verdict);
  });
  state_ = !unaware_.empty() ? State::kHeld : State::kComplete;
  was_missed_ = !all_here;
  begun_ = now;
  due_ = now + kEndingPatience;
}

void JobEnding::tell(const Roster::Node& node, const EndJob& verdict, Outbox& out) {
  EndJob message = verdict;
  message.held = true;
  unaware_.insert(node.id());
  out.send(node.peer(), std::move(message));
}

void JobEnding::acknowledge(const Roster::Node& node) { unaware_.erase(node.id()); }

void JobEnding::lose(const Roster::Node& node) {
  if (unaware_.erase(node.id()) > 0) was_missed_ = true;
}

void JobEnding::advance(bool is_remembered, const Roster& nodes, Outbox& out, TimePoint now) {
  if (state_ != State::kHeld) return;
  const bool all_know = unaware_.empty() && (is_remembered || !was_missed_);
  const auto patience = is_remembered ? kEndingPatience : kUntoldEndPatience;
  if (!all_know && now < begun_ + patience) {
    if (now >= due_) due_ = begun_ + patience;
    return;
  }
  state_ = State::kComplete;
  nodes.for_each([&](const Roster::Node& node) { out.send(node.peer(), Dismiss{}); });
}

bool may_be_schedulers_doing(const EndJob& verdict) {
  if (!verdict.failure) return false;
  const int signal = verdict.failure->status.signal;
  return signal == SIGTERM || signal == SIGUSR1 || signal == SIGUSR2;
}

void adopt_final_status(JobState& job, const Roster& nodes, const Leadership& leadership) {
  if (job.verdict) return;
  nodes.for_each([&](const Roster::Node& node) {
    if (!node.final_status || !leadership.knows_last_round(node.id())) return;
    job.verdict = node.final_status;
    job.verdict->held = false;
  });
}

}  // namespace ddprun
