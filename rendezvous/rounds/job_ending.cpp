#include "rendezvous/rounds/job_ending.hpp"

#include <utility>

namespace ddprun {

void JobEnding::begin(const EndJob& verdict, bool held, Roster& nodes, Outbox& out, TimePoint now) {
  EndJob message = verdict;
  message.held = held;
  nodes.for_each([&](Roster::Node& node) {
    node.owes_answer = held;
    if (held) ++unaware_;
    out.send(node.peer(), message);
  });
  state_ = unaware_ > 0 ? State::kHeld : State::kComplete;
  held_until_ = now + kEndingPatience;
}

void JobEnding::acknowledge(Roster::Node& node) {
  if (std::exchange(node.owes_answer, false)) --unaware_;
}

void JobEnding::advance(const Roster& nodes, Outbox& out, TimePoint now) {
  if (state_ != State::kHeld || (unaware_ > 0 && now < held_until_)) return;
  state_ = State::kComplete;
  nodes.for_each([&](const Roster::Node& node) { out.send(node.peer(), Dismiss{}); });
}

}  // namespace ddprun
