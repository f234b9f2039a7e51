// LineBuffer: cuts a worker's output into pieces that may be mixed with other workers'. Pure.
#pragma once

#include <string>
#include <string_view>

namespace ddprun {

/// Holds back what comes after the last end of a line ('\n', or '\r' as of progress bars), so that
/// lines of different workers do not run into each other; never more than kHeldBytesMax of it.
class LineBuffer {
 public:
  static constexpr std::size_t kHeldBytesMax = 64 * 1024;

  /// Takes more bytes, and returns those that may be passed on now.
  std::string feed(std::string_view bytes);

  /// Returns the unfinished line, which is a prompt or the last words of a worker, and forgets it.
  std::string take_rest();

  bool empty() const { return held_.empty(); }

 private:
  std::string held_;
};

}  // namespace ddprun
