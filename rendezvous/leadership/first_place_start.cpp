#include "rendezvous/leadership/first_place_start.hpp"

#include <utility>

namespace ddprun {

std::optional<std::vector<std::string>> FirstPlaceStart::ask(TimePoint now) {
  if (!waits_ || asked_ || now < due_) return std::nullopt;
  asked_ = true;
  std::vector<std::string> endpoints = others_;
  if (!found_.coordinator.empty()) endpoints.push_back(found_.coordinator);
  return endpoints;
}

std::optional<TimePoint> FirstPlaceStart::next_question() const {
  return waits_ && !asked_ ? std::optional{due_} : std::nullopt;
}

/// A witness that has not heard its leader for long tells where that one was, and no epoch.
bool FirstPlaceStart::hear(const Leader& found, bool all, TimePoint now) {
  if (!waits_) return false;
  asked_ = false;
  due_ = now + kAskPause;
  if (found.epoch > 0) {
    found_at_ = now;
    const std::string before = std::exchange(found_, found).coordinator;
    if (found_.coordinator.empty()) found_.coordinator = before;
    return false;
  }
  if (!found.coordinator.empty() && found_.coordinator != found.coordinator) {
    found_at_ = now;
    found_.coordinator = found.coordinator;  // a leader was there: that place is asked next
    return false;
  }
  if (found_ != Leader{} && (!all || now < found_at_ + patience_)) return false;
  waits_ = false;
  return true;
}

}  // namespace ddprun
