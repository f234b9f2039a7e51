// OutputTail: the last lines of a stream, in bounded memory, for the failure report. Pure.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace ddprun {

class OutputTail {
 public:
  static constexpr std::size_t kLinesMax = 20;
  static constexpr std::size_t kLineBytesMax = 1000;  // the rest of a longer line is dropped

  /// Takes more of the stream; a piece may end anywhere in a line.
  void append(std::string_view bytes);

  /// The last lines, oldest first, the unfinished one last, control characters replaced by '?'.
  /// What a carriage return has overwritten (a progress bar) is left out, as on a terminal.
  std::vector<std::string> lines() const;

 private:
  std::deque<std::string> finished_;
  std::string current_;
};

}  // namespace ddprun
