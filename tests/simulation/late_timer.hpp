// LateTimer: a timer as real machines have it, which rings a little after its time.
#pragma once

#include <optional>
#include <utility>

#include "tests/simulation/world.hpp"

namespace ddprun::simulation {

class LateTimer {
 public:
  explicit LateTimer(World& world) : world_{world} {}

  /// Sees to it that `ring` is called when something is due; an earlier call does for a later time.
  /// The timer must live until then.
  void set(std::optional<TimePoint> due, Timeline::Task ring) {
    if (!due || *due >= set_for_) return;
    set_for_ = *due;
    world_.time.at(*due + world_.random.time(milliseconds{0}, kLateMax),
                   [this, ring = std::move(ring)] {
                     set_for_ = TimePoint::max();
                     ring();
                   });
  }

 private:
  static constexpr milliseconds kLateMax{5};

  World& world_;
  TimePoint set_for_ = TimePoint::max();
};

}  // namespace ddprun::simulation
