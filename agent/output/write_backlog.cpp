#include "agent/output/write_backlog.hpp"

#include <algorithm>

namespace ddprun {

void WriteBacklog::begin(TimePoint now) {
  if (is_empty()) answered_ = now;
  ++tasks_;
}

void WriteBacklog::end(TimePoint now) {
  if (tasks_ > 0) --tasks_;
  note_answer(now);
}

bool WriteBacklog::take(std::size_t bytes, TimePoint now) {
  if (bytes_ + bytes > kBytesTaken) return false;
  if (is_empty()) answered_ = now;
  bytes_ += bytes;
  full_ = full_ || bytes_ >= kBytesMax;
  return true;
}

void WriteBacklog::written(std::size_t bytes, TimePoint now) {
  bytes_ -= std::min(bytes, bytes_);
  full_ = full_ && bytes_ > kBytesMax / 2;
  note_answer(now);
}

void WriteBacklog::note_answer(TimePoint now) {
  answered_ = now;
  hangs_ = false;
}

bool WriteBacklog::begins_to_hang(std::chrono::milliseconds patience, TimePoint now) {
  const auto at = hangs_at(patience);
  if (!at || now < *at) return false;
  hangs_ = true;
  return true;
}

std::optional<TimePoint> WriteBacklog::hangs_at(std::chrono::milliseconds patience) const {
  if (is_empty() || hangs_) return std::nullopt;
  return answered_ + patience;
}

}  // namespace ddprun
