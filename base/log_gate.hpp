// LogGate lets a line of one kind through now and then and counts the rest, so that no peer can
// flood the log.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <utility>

#include "base/clock.hpp"

namespace ddprun {

/// Lets one line through a second.
class LogGate {
 public:
  /// Asks for one line at `now`. Returns nullopt when it is to be left out, and otherwise how many
  /// were left out since the last one that was let through.
  std::optional<std::size_t> pass(TimePoint now) {
    if (last_ && now - *last_ < kPause) {
      ++left_out_;
      return std::nullopt;
    }
    last_ = now;
    return std::exchange(left_out_, 0);
  }

 private:
  static constexpr std::chrono::seconds kPause{1};

  std::optional<TimePoint> last_;
  std::size_t left_out_ = 0;
};

}  // namespace ddprun
