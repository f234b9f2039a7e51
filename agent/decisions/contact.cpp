#include "agent/decisions/contact.hpp"

#include <algorithm>
#include <utility>

#include "rendezvous/leadership/lease_times.hpp"

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

using std::chrono::milliseconds;

Contact::Contact(std::string place, std::optional<TimePoint> asked, TimePoint now)
    : place_{std::move(place)},
      since_{now},
      heard_{now},
      answered_{asked.value_or(now)},
      asked_{asked} {}

void Contact::joined(std::int64_t clock_us, TimePoint beat_due, TimePoint now) {
  beat_due_ = beat_due;
  if (asked_ && clock_us > 0) clock_.heard(microseconds(*asked_), clock_us, microseconds(now));
}

void Contact::hear_clock(std::int64_t clock_us, std::int64_t echo_us, TimePoint now) {
  if (echo_us <= 0 || clock_us <= 0) return;
  clock_.heard(echo_us, clock_us, microseconds(now));
  const TimePoint sent{std::chrono::microseconds{echo_us}};
  if (sent <= now) answered_ = std::max(answered_, sent);
}

void Contact::grant(std::int64_t lease_ms, milliseconds heartbeat_timeout) {
  if (lease_ms < 0) return;
  const auto time = std::min(milliseconds{lease_ms}, kLeaseUsed.of(heartbeat_timeout));
  lease_ = std::max(lease_, answered_ + time);
}

std::optional<TimePoint> Contact::lease_ends() const {
  return counts_ && lease_ > TimePoint{} ? std::optional{lease_} : std::nullopt;
}

}  // namespace ddprun
