#include "agent/decisions/contact.hpp"

#include <algorithm>
#include <utility>

#include "rendezvous/leadership/lease_times.hpp"

namespace ddprun {

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
