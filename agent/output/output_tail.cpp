#include "agent/output/output_tail.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

namespace ddprun {

namespace {

std::string printable(std::string line) {
  while (!line.empty() && line.back() == '\r') line.pop_back();
  line.erase(0, line.rfind('\r') + 1);  // npos + 1 == 0: nothing to erase
  std::ranges::replace_if(
      line, [](unsigned char c) { return std::iscntrl(c) && c != '\t'; }, '?');
  return line;
}

}  // namespace

void OutputTail::append(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t newline = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, newline);
    if (piece.find('\r') != std::string_view::npos && current_.size() >= kLineBytesMax)
      current_.clear();  // a progress bar redrawn for hours: only the last drawing counts
    current_ += piece.substr(0, kLineBytesMax - std::min(current_.size(), kLineBytesMax));
    if (newline == std::string_view::npos) return;
    finished_.push_back(std::exchange(current_, {}));
    if (finished_.size() > kLinesMax) finished_.pop_front();
    bytes.remove_prefix(newline + 1);
  }
}

std::vector<std::string> OutputTail::lines() const {
  std::vector<std::string> out;
  for (const std::string& line : finished_) out.push_back(printable(line));
  if (!current_.empty()) out.push_back(printable(current_));
  if (out.size() > kLinesMax) out.erase(out.begin());
  return out;
}

}  // namespace ddprun
