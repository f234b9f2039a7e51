#include "agent/output/line_buffer.hpp"

#include <utility>

namespace ddprun {

std::string LineBuffer::feed(std::string_view bytes) {
  std::size_t end = bytes.find_last_of("\r\n");
  // "\r" alone at the end may be the first half of "\r\n".
  if (end + 1 == bytes.size() && end > 0 && bytes[end] == '\r')
    end = bytes.find_last_of("\r\n", end - 1);
  else if (bytes == "\r")
    end = std::string_view::npos;
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
