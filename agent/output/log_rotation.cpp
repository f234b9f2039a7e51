#include "agent/output/log_rotation.hpp"

#include <algorithm>

namespace ddprun {

std::size_t LogRotation::fits(std::string_view bytes) const {
  if (rule_.bytes_max == 0 || size_ + bytes.size() <= rule_.bytes_max) return bytes.size();
  const std::size_t room = rule_.bytes_max - std::min(size_, rule_.bytes_max);
  const std::size_t last_end = bytes.substr(0, room).rfind('\n');
  if (last_end != std::string_view::npos) return last_end + 1;
  if (!in_line_ && size_ > 0) return 0;  // the line fits better into a file of its own
  const std::uint64_t at_most = rule_.bytes_max + kLineBytesMax;
  const std::size_t more = at_most - std::min(size_, at_most);
  const std::size_t end = bytes.substr(0, more).find('\n');
  return end != std::string_view::npos ? end + 1 : std::min(more, bytes.size());
}

void LogRotation::written(std::size_t bytes, char last) {
  size_ += bytes;
  in_line_ = last != '\n';
}

void LogRotation::begin_next() {
  size_ = 0;
  in_line_ = false;
}

}  // namespace ddprun
