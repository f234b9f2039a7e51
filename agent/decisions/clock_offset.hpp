// ClockOffset: how far a peer's clock is ahead of this machine's, so that times of different
// machines can be compared. Pure.
//
// It is NTP's way (RFC 5905, section 8): a message and its answer give the time on both ends, and
// half of the round trip is what the answer may be wrong by. So the answer that came soonest
// counts. The clocks of two machines drift apart by some 50 µs a second, so only recent answers do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

namespace ddprun {

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

}  // namespace ddprun
