#include "rendezvous/rounds/connect_plan.hpp"

#include <algorithm>
#include <utility>

namespace ddprun {

ConnectPlan::ConnectPlan(Patience patience, TimePoint now)
    : refused_patience_{patience.refused},
      deadline_{now + patience.any},
      refused_until_{now + patience.refused} {}

std::optional<std::chrono::milliseconds> ConnectPlan::pause_after(Failure failure, TimePoint now) {
  if (failure != Failure::kRefused) refused_until_ = now + refused_patience_;
  if (std::min(deadline_, refused_until_) <= now + pause_) return std::nullopt;
  return std::exchange(pause_, std::min(pause_ * 2, kLongestPause));
}

}  // namespace ddprun
