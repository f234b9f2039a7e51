#include "rendezvous/leadership/leader_lease.hpp"

#include <algorithm>
#include <vector>

#include "rendezvous/leadership/lease_times.hpp"

namespace ddprun {

namespace {

using std::chrono::milliseconds;

/// Pause between two looks at all voters, for each of them. A look takes about a tenth of it.
constexpr std::chrono::microseconds kLookAtVoter{5};

}  // namespace

TimePoint followed_until(const VoterTable& voters, const ConfigurationVersion& version, int needed,
                         milliseconds heartbeat_timeout) {
  if (needed <= 0) return TimePoint::max();
  std::vector<TimePoint> confirmed;
  voters.for_each([&](const Voter& voter) {
    if (voter.follows() && is_member(voter.state, version)) confirmed.push_back(voter.confirmed);
  });
  if (std::ssize(confirmed) < needed) return {};
  std::ranges::nth_element(confirmed, confirmed.begin() + needed - 1, std::greater{});
  return confirmed[static_cast<std::size_t>(needed - 1)] + kFollowerCounts.of(heartbeat_timeout);
}

void confirm(Voter& voter, std::int64_t echo_us, TimePoint now) {
  const TimePoint heard{std::chrono::microseconds{echo_us}};
  if (echo_us > 0 && heard <= now) voter.confirmed = std::max(voter.confirmed, heard);
}

std::int64_t LeaderLease::grant_ms(TimePoint now) const {
  if (until_ >= now + timeout_) return timeout_.count();
  const auto left = std::chrono::duration_cast<milliseconds>(until_ - now);
  return std::max(left, milliseconds{0}).count();
}

bool LeaderLease::is_found_over(TimePoint now, const std::function<TimePoint()>& ends) {
  if (now < check_due_) return false;
  until_ = ends();
  const milliseconds pause = kLeaseCheck.of(timeout_);
  check_due_ = std::min(now + pause, std::max(until_, now));
  if (now < until_) return false;
  check_due_ = now + pause;
  return true;
}

bool LeaderLease::looks(TimePoint now, std::size_t voters, const std::function<bool()>& holds) {
  if (now < look_due_) {
    passed_over_ = passed_over_ || touched_;
    return false;
  }
  passed_over_ = touched_ = false;
  if (holds()) return true;
  look_due_ = now + kLookAtVoter * static_cast<int>(voters);
  return false;
}

}  // namespace ddprun
