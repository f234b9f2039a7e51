#include "agent/decisions/turns.hpp"

#include <algorithm>
#include <utility>

#include "rendezvous/transport/connect_plan.hpp"

namespace ddprun {

Turns::Turns(std::vector<std::string> places, TimePoint since)
    : since_{since}, note_due_{since + ConnectPlan::kFirstNote}, places_{std::move(places)} {}

Turns::Try Turns::next() {
  const std::size_t number = tries_++;
  const std::size_t turn = number / places_.size();
  const std::size_t in_turn = number % places_.size();
  if (turn > 0 && in_turn == 0) heard_epoch_ = 0;
  return {places_[in_turn], turn, in_turn == 0};
}

Turns::Try Turns::next_or_last() {
  const std::size_t number = std::min(tries_++, places_.size() - 1);
  return {places_[number], 0, number == 0};
}

void Turns::repeat() {
  if (repeated_ == tries_) return;
  repeated_ = tries_--;
}

void Turns::add(const std::string& place) {
  if (std::ranges::count(places_, place) == 0) places_.push_back(place);
}

void Turns::failed(const std::string& place, const std::string& reason, bool refused) {
  all_refuse_ = all_refuse_ && refused;
  found(place, reason);
  reason_ = reason;
}

void Turns::found(const std::string& place, const std::string& what) {
  if (!place.empty()) findings_[place] = what;
}

std::string Turns::findings() const {
  std::string text;
  for (const std::string& place : places_) {
    const auto found = findings_.find(place);
    if (found != findings_.end()) text += (text.empty() ? "" : "; ") + found->second;
  }
  return "nobody coordinates the job: " + text;
}

std::optional<std::string> Turns::note(std::chrono::milliseconds patience, TimePoint now) {
  if (now < note_due_) return std::nullopt;
  note_due_ = now + ConnectPlan::kNoteInterval;
  const auto left = std::chrono::ceil<std::chrono::seconds>(since_ + patience - now);
  return findings() + "; giving up in " + std::to_string(left.count()) + " s";
}

bool Turns::hear(std::int64_t epoch) {
  const bool later = epoch > heard_epoch_;
  heard_epoch_ = std::max(heard_epoch_, epoch);
  return later;
}

}  // namespace ddprun
