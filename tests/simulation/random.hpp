// Chance from a seed. Ranges are drawn here and not by std::uniform_int_distribution, whose results
// differ between libraries: a seed replays the same run everywhere.
#pragma once

#include <chrono>
#include <cstdint>
#include <random>

namespace ddprun::simulation {

using std::chrono::milliseconds;

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_{seed} {}

  /// Both ends included. That low numbers are a little likelier does not matter here.
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(high - low + 1));
  }
  int number(int low, int high) { return static_cast<int>(between(low, high)); }
  milliseconds time(milliseconds low, milliseconds high) {
    return milliseconds{between(low.count(), high.count())};
  }
  bool chance(int percent) { return between(1, 100) <= percent; }

 private:
  std::mt19937_64 engine_;
};

}  // namespace ddprun::simulation
