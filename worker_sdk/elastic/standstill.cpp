#include "worker_sdk/elastic/standstill.hpp"

namespace ddprun::sdk {

bool Standstill::is_new(const Waits& waits, std::chrono::nanoseconds ran, TimePoint now) {
  if (waits.begun == waits.ended || waits != waits_ || ran - ran_ > kRunsTime) {
    since_ = now;
    waits_ = waits;
    ran_ = ran;
  }
  if (is_told_ || now - since_ < kStuckTime) return false;
  is_told_ = true;
  return true;
}

}  // namespace ddprun::sdk
