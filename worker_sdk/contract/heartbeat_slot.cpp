#include "worker_sdk/contract/heartbeat_slot.hpp"

#include <charconv>
#include <ctime>

namespace ddprun::sdk {

namespace {

constexpr int kTriesMax = 100;

}  // namespace

static_assert(std::atomic<double>::is_always_lock_free &&
                  std::atomic<std::int64_t>::is_always_lock_free,
              "a lock would be in one process only");

void HeartbeatSlot::begin_round() { round_.fetch_add(1, std::memory_order_relaxed); }

void HeartbeatSlot::keep_first(const HeartbeatReading& reading) {
  const std::int64_t round = round_.load(std::memory_order_relaxed);
  if (first_round_.load(std::memory_order_relaxed) == round) return;
  first_step_.store(reading.step, std::memory_order_relaxed);
  first_time_ns_.store(reading.time_ns, std::memory_order_relaxed);
  first_round_.store(round, std::memory_order_release);
}

void HeartbeatSlot::add_first(HeartbeatReading& reading) const {
  const std::int64_t round = round_.load(std::memory_order_relaxed);
  if (round == 0 || first_round_.load(std::memory_order_acquire) != round) return;
  reading.first_step = first_step_.load(std::memory_order_relaxed);
  reading.first_time_ns = first_time_ns_.load(std::memory_order_relaxed);
}

void HeartbeatSlot::write(const HeartbeatReading& reading) {
  keep_first(reading);
  const std::uint64_t next = count_.load(std::memory_order_relaxed) + 1;
  Entry& entry = entries_[next % 2];
  // A reader that sees any of these stores sees by the count that it was overtaken.
  std::atomic_thread_fence(std::memory_order_release);
  entry.step.store(reading.step, std::memory_order_relaxed);
  entry.loss.store(reading.loss, std::memory_order_relaxed);
  entry.samples_per_second.store(reading.samples_per_second, std::memory_order_relaxed);
  entry.time_ns.store(reading.time_ns, std::memory_order_relaxed);
  if (reading.steps > 0) steps_.store(reading.steps, std::memory_order_relaxed);
  count_.store(next, std::memory_order_release);
}

std::optional<HeartbeatReading> HeartbeatSlot::read() const {
  for (int i = 0; i < kTriesMax; ++i) {
    const std::uint64_t count = count_.load(std::memory_order_acquire);
    if (count == 0) return std::nullopt;
    const Entry& entry = entries_[count % 2];
    HeartbeatReading reading{
        entry.step.load(std::memory_order_relaxed), entry.loss.load(std::memory_order_relaxed),
        entry.samples_per_second.load(std::memory_order_relaxed),
        entry.time_ns.load(std::memory_order_relaxed), steps_.load(std::memory_order_relaxed)};
    std::atomic_thread_fence(std::memory_order_acquire);
    // The entry is written again only after the count has grown.
    if (count_.load(std::memory_order_relaxed) != count) continue;
    add_first(reading);
    return reading;
  }
  return std::nullopt;
}

std::string to_string(const HeartbeatAddress& address) {
  return address.path + ":" + std::to_string(address.slot);
}

std::optional<HeartbeatAddress> parse_heartbeat_address(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) return std::nullopt;
  HeartbeatAddress address{text.substr(0, colon), 0};
  const char* end = text.data() + text.size();
  const auto [parsed, error] = std::from_chars(text.data() + colon + 1, end, address.slot);
  if (error != std::errc{} || parsed != end) return std::nullopt;
  return address;
}

std::int64_t monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace ddprun::sdk
