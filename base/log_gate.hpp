// LogGate lets a few lines through and counts the rest, so that no peer can flood the log.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <utility>

#include "base/clock.hpp"

namespace ddprun {

/// Lets kLinesMax lines through in kWindow. A window begins with its first line.
class LogGate {
 public:
  /// Asks for one line at `now`. Returns nullopt when it is to be left out, and otherwise how many
  /// were left out since the last one that was let through.
  std::optional<std::size_t> pass(TimePoint now) {
    if (now - window_begin_ >= kWindow) {
      window_begin_ = now;
      lines_ = 0;
    }
    if (lines_ == kLinesMax) {
      ++left_out_;
      return std::nullopt;
    }
    ++lines_;
    return std::exchange(left_out_, 0);
  }

 private:
  static constexpr std::chrono::seconds kWindow{10};
  static constexpr std::size_t kLinesMax = 20;

  TimePoint window_begin_{};
  std::size_t lines_ = 0;
  std::size_t left_out_ = 0;
};

}  // namespace ddprun
