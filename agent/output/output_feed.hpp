// OutputFeed: what a worker writes from now on, for somebody who follows it and is slower at times.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace ddprun {

class OutputFeed {
 public:
  static constexpr std::size_t kBytesMax = 256 * 1024;

  /// Takes more. What does not fit is lost, and the reader gets a note.
  void append(std::string_view bytes) {
    if (bytes_.size() + bytes.size() <= kBytesMax)
      bytes_ += bytes;
    else
      lost_ = true;
  }

  /// Returns what has come since the last call.
  std::string take() {
    std::string bytes = std::exchange(bytes_, {});
    if (std::exchange(lost_, false)) bytes += "\n[some output is left out here]\n";
    return bytes;
  }

 private:
  std::string bytes_;
  bool lost_ = false;
};

}  // namespace ddprun
