// WriteBacklog: what waits to be written to files in a folder that may hang, and whether the folder
// does. Pure.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>

#include "base/clock.hpp"

namespace ddprun {

class WriteBacklog {
 public:
  /// When so much waits, nothing more should be read from workers; see is_full().
  static constexpr std::size_t kBytesMax = 4 * 1024 * 1024;
  /// What comes anyway is taken up to this: the pipes of workers that end at the same time are
  /// full, and no worker waits for a folder that hangs.
  static constexpr std::size_t kBytesTaken = 16 * kBytesMax;
  /// A folder that has answered nothing for this long hangs. A disk with much to do is silent for
  /// seconds.
  static constexpr std::chrono::seconds kPatience{20};
  /// A shorter patience, where somebody waits for the answer, as the end of a worker or of the job
  /// does.
  static constexpr std::chrono::seconds kPatienceOfWaiting{2};

  /// Something without bytes is to be done, as to open a file; and has been.
  void begin(TimePoint now);
  void end(TimePoint now);

  /// That many bytes are to be written. Returns false if too many wait: these are left out.
  bool take(std::size_t bytes, TimePoint now);
  /// That many have been.
  void written(std::size_t bytes, TimePoint now);

  /// Whether a writer of more should wait, until half of it is written. None waits for a
  /// folder that hangs.
  bool is_full() const { return !hangs_ && full_; }

  /// Whether the folder hangs; it may answer again.
  bool hangs() const { return hangs_; }

  /// Whether the folder has been silent for `patience`, and did not hang before.
  bool begins_to_hang(std::chrono::milliseconds patience, TimePoint now);

  /// When it will be; nullopt: nothing waits for it, or it hangs.
  std::optional<TimePoint> hangs_at(std::chrono::milliseconds patience) const;

  bool is_empty() const { return tasks_ == 0 && bytes_ == 0; }
  std::size_t bytes() const { return bytes_; }

 private:
  void note_answer(TimePoint now);

  std::size_t tasks_ = 0;  // without bytes
  std::size_t bytes_ = 0;
  TimePoint answered_;  // or began to wait for an answer
  bool full_ = false;
  bool hangs_ = false;
};

}  // namespace ddprun
