// What the workers of a node were asked last, and how long they have for that. Pure.
#pragma once

#include <algorithm>
#include <optional>

#include "base/clock.hpp"

namespace ddprun {

/// What workers were asked or told last, while they are to end or to leave the round.
/// kSweep: they have ended, and what they left behind is to end.
enum class Asked { kCheckpoint, kHold, kLastStep, kLeave, kSigterm, kSweep, kSigkill };

struct Grace {
  Asked asked;
  TimePoint ends;                           // when they get no more time for that
  std::optional<TimePoint> says_late = {};  // when the user is informed that some take their time
  /// When something is to be done about it.
  TimePoint due() const { return std::min(ends, says_late.value_or(ends)); }
  bool kills() const { return asked == Asked::kSigkill; }
};

}  // namespace ddprun
