#include "agent/line_buffer.hpp"

#include <utility>

namespace ddprun {

std::string LineBuffer::feed(std::string_view bytes) {
  const std::size_t end = bytes.find_last_of("\r\n");
  if (end == std::string_view::npos) {
    held_ += bytes;
    return held_.size() > kHeldBytesMax ? take_rest() : std::string{};
  }
  std::string ready = std::exchange(held_, std::string{bytes.substr(end + 1)});
  ready += bytes.substr(0, end + 1);
  return ready;
}

std::string LineBuffer::take_rest() { return std::exchange(held_, {}); }

}  // namespace ddprun
