#include "agent/decisions/clock_offset.hpp"

#include <algorithm>

namespace ddprun {

void ClockOffset::heard(std::int64_t sent_us, std::int64_t peer_us, std::int64_t heard_us) {
  if (heard_us < sent_us) return;
  const std::int64_t round_trip = heard_us - sent_us;
  answers_.push_back({round_trip, peer_us - (sent_us + round_trip / 2)});
  if (answers_.size() > kAnswersMax) answers_.pop_front();
}

std::optional<std::int64_t> ClockOffset::offset_us() const {
  if (answers_.empty()) return std::nullopt;
  return std::ranges::min_element(answers_, {}, &Answer::round_trip_us)->offset_us;
}

}  // namespace ddprun
