// WaitNote: the note to the user while a job waits for its nodes, and how often it comes. Pure.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/clock.hpp"
#include "rendezvous/messages/membership_messages.hpp"

namespace ddprun {

class WaitNote {
 public:
  /// A wait this short needs no word.
  static constexpr std::chrono::seconds kSilence{3};
  static constexpr std::chrono::seconds kInterval{30};

  /// The line to print now, if it is time for one: after kSilence, when the number of nodes
  /// changes, and every kInterval. `place` is where others join, as HOST:PORT; "": not told.
  std::optional<std::string> next(const Waiting& waiting, const std::string& place, TimePoint now);

 private:
  std::optional<TimePoint> since_;
  std::optional<TimePoint> said_;
  int nodes_ = 0;
};

}  // namespace ddprun
