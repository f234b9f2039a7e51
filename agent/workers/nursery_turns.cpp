#include "agent/workers/nursery_turns.hpp"

#include <utility>

namespace ddprun {

bool NurseryTurns::take() { return !std::exchange(taken_, true); }

std::size_t NurseryTurns::begin(std::size_t workers) {
  forked_.assign(workers, -1);
  delivered_ = workers == 0;
  return ++start_;
}

void NurseryTurns::hear(const Forked& answer) {
  if (answer.start == start_ && answer.worker < forked_.size()) forked_[answer.worker] = answer.pid;
}

void NurseryTurns::hear(const Delivered& answer) {
  delivered_ = delivered_ || answer.start == start_;
}

ForkedFate NurseryTurns::fate(bool unwanted) const {
  if (unwanted) return ForkedFate::kKilled;
  return delivered_ ? ForkedFate::kTaken : ForkedFate::kStartedAnew;
}

}  // namespace ddprun
