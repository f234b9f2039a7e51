// Contact: the agent's connection to a coordinator, or to a node that may become it, as far as
// decisions need it. Pure.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "base/clock.hpp"

namespace ddprun {

/// ClockOffset: how far a peer's clock is ahead of this machine's, so that times of different
/// machines can be compared.
///
/// It is NTP's way (RFC 5905, section 8): a message and its answer give the time on both ends, and
/// half of the round trip is what the answer may be wrong by. So the answer that came soonest
/// counts. The clocks of two machines drift apart by some 50 µs a second, so only recent answers
/// do.
class ClockOffset {
 public:
  static constexpr std::size_t kAnswersMax = 16;

  /// The peer's clock said `peer_us` when it answered, at once, what was sent at `sent_us`. The
  /// answer was heard at `heard_us`. All in microseconds. An answer that came before it was asked
  /// for is passed over.
  void heard(std::int64_t sent_us, std::int64_t peer_us, std::int64_t heard_us);

  /// To be added to a time of this machine's clock to get the peer's; nullopt: nothing was heard.
  std::optional<std::int64_t> offset_us() const;

 private:
  struct Answer {
    std::int64_t round_trip_us = 0;
    std::int64_t offset_us = 0;
  };
  std::deque<Answer> answers_;  // the last ones
};

class Contact {
 public:
  /// Connected at `now` to `place`, as ReachCoordinator's `at`; what was `asked` is answered.
  Contact(std::string place, std::optional<TimePoint> asked, TimePoint now);

  const std::string& place() const { return place_; }
  TimePoint since() const { return since_; }

  void heard(TimePoint now) { heard_ = now; }
  TimePoint last_heard() const { return heard_; }

  /// The answer to the join came at `now`, with the coordinator's clock.
  void joined(std::int64_t clock_us, TimePoint beat_due, TimePoint now);
  bool is_joined() const { return beat_due_.has_value(); }
  std::optional<TimePoint> beat_due() const { return beat_due_; }
  void beats_at(TimePoint due) { beat_due_ = due; }

  /// The coordinator's clock said so, in the answer to what was sent at `echo_us`; 0: to nothing.
  void hear_clock(std::int64_t clock_us, std::int64_t echo_us, TimePoint now);
  /// What to add to a time of this machine's clock to get the coordinator's.
  std::int64_t clock_offset_us() const { return clock_.offset_us().value_or(0); }
  /// When the last beat was sent that it has answered.
  TimePoint answered() const { return answered_; }

  /// The coordinator may count on this node from now on.
  void let_count() { counts_ = true; }
  bool counts() const { return counts_; }

  /// It grants a lease, counted from when that was sent which it has answered: the answer was not
  /// sent earlier. Below 0: it grants none.
  void grant(std::int64_t lease_ms, std::chrono::milliseconds heartbeat_timeout);
  /// The lease of before goes on.
  void keep_lease(TimePoint ends) { lease_ = ends; }
  /// When the lease ends on which workers are alive; nullopt: there is none.
  std::optional<TimePoint> lease_ends() const;

  /// It coordinates nothing yet, and has until then to find the votes for it.
  void await_leader(TimePoint until) { voting_until_ = until; }
  void found_leader() { voting_until_.reset(); }
  std::optional<TimePoint> voting_until() const { return voting_until_; }

 private:
  std::string place_;
  TimePoint since_;
  TimePoint heard_;
  TimePoint answered_;
  std::optional<TimePoint> asked_;
  std::optional<TimePoint> beat_due_;  // nullopt: not joined yet
  bool counts_ = false;
  TimePoint lease_;  // its end; TimePoint{}: there is none
  std::optional<TimePoint> voting_until_;
  ClockOffset clock_;
};

}  // namespace ddprun
