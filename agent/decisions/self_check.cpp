#include "agent/decisions/self_check.hpp"

#include <algorithm>
#include <utility>

namespace ddprun {

bool SelfCheck::begin(For what) {
  if (!agent_.rules.checks_itself) return false;
  what_ = what;
  due_.reset();
  agent_.act(
      CheckSelf{++checks_, what == For::kAnswer ? kCheckPatience : decltype(kCheckPatience){}});
  return true;
}

SelfCheck::For SelfCheck::checked(const Checked& found, TimePoint now) {
  if (found.check != checks_ || what_ == For::kNothing) return For::kNothing;
  const For what = std::exchange(what_, For::kNothing);
  if (what != For::kWaiting) interval_ = kCheckAgain;
  due_ = now + interval_;
  interval_ = std::min(2 * interval_, kCheckAgainMax);
  note(found, what, now);
  return what;
}

/// What is not known changes nothing. A node that waits is well when two looks have said so: else
/// one whose disk comes and goes would stop a round each time.
void SelfCheck::note(const Checked& found, For what, TimePoint now) {
  if (!found.error.empty())
    return agent_.warn("--check-nodes: this node could not be looked at: " + found.error);
  const bool recovers = found.unfit.empty() && !agent_.unfit.empty();
  if (recovers && what == For::kWaiting && !std::exchange(was_well_, true)) {
    due_ = now + kCheckAgain;
    return;
  }
  was_well_ = false;
  if (std::exchange(agent_.unfit, found.unfit) != found.unfit) agent_.tell(Fitness{found.unfit});
}

void SelfCheck::forget() {
  what_ = For::kNothing;
  due_.reset();
}

void SelfCheck::joined() {
  if (agent_.rules.checks_itself) agent_.tell(Fitness{agent_.unfit});
}

void SelfCheck::look_again(TimePoint now) {
  if (due_ && now >= *due_) begin(For::kWaiting);
}

}  // namespace ddprun
