// Pace: how fast files are read and copied beside a training. A niceness does not do: where ranks
// fill the CPUs, they lose a third of their speed to a reader of the lowest priority that takes
// all of the memory's bandwidth, and a fiftieth to one of 200 MB/s.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>

#include "base/clock.hpp"

namespace ddprun {

inline constexpr std::size_t kPacedBytesPerSecond = 200'000'000;

/// Threads that read and copy spend, others say how.
class Pace {
 public:
  /// Nobody trains, so all goes as fast as it can; or not any more.
  void hurry(bool on);
  /// The work is to end.
  void cancel();

  /// How much has been spent so far.
  std::size_t spent();

  /// Waits as long as that many bytes should take. Returns false once the work is to end.
  bool spend(std::size_t bytes);

 private:
  std::mutex mutex_;
  std::condition_variable news_;
  bool hurry_ = false;
  bool cancelled_ = false;
  std::size_t spent_ = 0;
  TimePoint free_at_{};  // the next bytes may be read then
};

}  // namespace ddprun
