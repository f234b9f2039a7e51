#include "agent/checkpoints/pace.hpp"

#include <algorithm>
#include <chrono>

namespace ddprun {

void Pace::hurry(bool on) {
  const std::lock_guard lock{mutex_};
  hurry_ = on;
  news_.notify_all();
}

void Pace::cancel() {
  const std::lock_guard lock{mutex_};
  cancelled_ = true;
  news_.notify_all();
}

std::size_t Pace::spent() {
  const std::lock_guard lock{mutex_};
  return spent_;
}

bool Pace::spend(std::size_t bytes) {
  using std::chrono::nanoseconds;
  std::unique_lock lock{mutex_};
  const auto takes = nanoseconds{bytes * std::size_t{1'000'000'000} / kPacedBytesPerSecond};
  spent_ += bytes;
  free_at_ = std::max(free_at_, Clock::now()) + takes;
  news_.wait_until(lock, free_at_, [this] { return hurry_ || cancelled_; });
  if (hurry_) free_at_ = Clock::now();  // later bytes do not wait for these
  return !cancelled_;
}

}  // namespace ddprun
