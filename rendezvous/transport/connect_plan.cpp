#include "rendezvous/transport/connect_plan.hpp"

#include <algorithm>
#include <utility>

namespace ddprun {

namespace {

std::string behind(const char* before, const std::string& detail) {
  return detail.empty() ? "" : before + detail;
}

}  // namespace

std::string describe(const FailedAttempt& attempt, const Endpoint& endpoint) {
  using Why = FailedAttempt::Why;
  const std::string there = text_of(endpoint);
  std::string unreachable = "cannot reach the coordinator at " + there;
  switch (attempt.why) {
    case Why::kRefused:
    case Why::kNoAnswer:
    case Why::kUnresolved:
      return unreachable + behind(": ", attempt.detail);
    case Why::kSilent:
      return "something listens at " + there + ", but it does not answer as a coordinator does";
    case Why::kHungUp:
      return "something listens at " + there + ", but it hangs up on nodes that want to join";
    case Why::kStranger:
      return "something listens at " + there + ", but it does not speak ddprun's protocol" +
             behind(": ", attempt.detail);
    case Why::kDenied:  // which of these it is, the coordinator tells no stranger
      return "the coordinator at " + there +
             " does not take this node's secret: it has another one or none, or it is another "
             "job's "
             "(--rdzv-id)";
  }
  return unreachable;
}

ConnectPlan::ConnectPlan(Patience patience, TimePoint now)
    : patience_{patience},
      deadline_{now + patience.any},
      refused_until_{now + patience.refused},
      note_due_{now + kFirstNote} {}

TimePoint ConnectPlan::connected_by(TimePoint now) const {
  return std::min(now + kConnectTimeout, deadline_);
}

TimePoint ConnectPlan::answered_by(TimePoint now) const {
  return std::min(now + patience_.answer, deadline_);
}

std::optional<std::chrono::milliseconds> ConnectPlan::pause_after(FailedAttempt::Why why,
                                                                  TimePoint now) {
  if (why == FailedAttempt::Why::kDenied) return std::nullopt;
  refused_ = why == FailedAttempt::Why::kRefused;
  if (!refused_) refused_until_ = now + patience_.refused;
  const bool asks_again = why == FailedAttempt::Why::kHungUp && ++hang_ups_ <= kHangUpsMax;
  if (asks_again) refused_until_ = std::max(refused_until_, now + 2 * pause_);
  if (std::min(deadline_, refused_until_) <= now + pause_) return std::nullopt;
  return std::exchange(pause_, std::min(pause_ * 2, kLongestPause));
}

std::string ConnectPlan::note(const FailedAttempt& last, const Endpoint& endpoint, TimePoint now) {
  note_due_ = now + kNoteInterval;
  const auto left = std::chrono::ceil<std::chrono::seconds>(gives_up() - now);
  return describe(last, endpoint) + "; giving up in " +
         std::to_string(std::max<std::chrono::seconds::rep>(left.count(), 0)) + " s";
}

/// If the next attempts end like the last one.
TimePoint ConnectPlan::gives_up() const {
  return refused_ ? std::min(deadline_, refused_until_) : deadline_;
}

}  // namespace ddprun
