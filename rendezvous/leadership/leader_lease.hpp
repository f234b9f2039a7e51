// LeaderLease: until when this leader counts on enough followers, and what it may grant of that to
// its nodes. Pure. The times and their proof are in lease_times.hpp.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

#include "rendezvous/leadership/joint_quorum.hpp"
#include "rendezvous/leadership/voter_table.hpp"

namespace ddprun {

/// The time at which fewer than `needed` voters of that configuration follow: TimePoint::max() when
/// none is needed, and TimePoint{} when there are not enough.
TimePoint followed_until(const VoterTable& voters, const ConfigurationVersion& version, int needed,
                         std::chrono::milliseconds heartbeat_timeout);

/// A voter that repeats what was said to it at `echo_us` had not given this leader up then.
void confirm(Voter& voter, std::int64_t echo_us, TimePoint now);

class LeaderLease {
 public:
  explicit LeaderLease(std::chrono::milliseconds heartbeat_timeout) : timeout_{heartbeat_timeout} {}

  TimePoint until() const { return until_; }
  void set_until(TimePoint until) { until_ = until; }
  /// What may be granted at `now`: at most a whole heartbeat timeout.
  std::int64_t grant_ms(TimePoint now) const;

  /// Whether `ends`, the time until which enough follow, is found to be over. It is looked at now
  /// and then only.
  bool is_found_over(TimePoint now, const std::function<TimePoint()>& ends);

  /// Whether `holds` is true. Looking at all voters takes a while when there are thousands of them,
  /// so after a look that found nothing the next one waits.
  bool looks(TimePoint now, std::size_t voters, const std::function<bool()>& holds);
  /// Something has happened that the next look may find. That somebody asks again is nothing.
  void touch() { touched_ = true; }
  /// When something that happened is looked at, if it was not yet; TimePoint{}: nothing waits.
  TimePoint look_due() const { return passed_over_ ? look_due_ : TimePoint{}; }

 private:
  std::chrono::milliseconds timeout_;
  TimePoint until_;           // as it was at the last look
  TimePoint check_due_;       // for is_found_over()
  TimePoint look_due_;        // for looks()
  bool touched_ = false;      // something has happened since the last look
  bool passed_over_ = false;  // a look for that was put off
};

}  // namespace ddprun
