// SaveWatch decides when the folder of a program's checkpoints is looked at, and when what is there
// is kept. Programs do not say that a save has ended, and none of the signs that libraries leave is
// common to all (safetensors renames a file before it is closed; accelerate writes nothing last; a
// file that a failed save has left looks finished). So a save has ended when nothing has happened
// in the folder for kStillFor, no file there is open for writing, and none has an unfinished name.
// A rank may take longer for its part: so a new folder that lacks a file of the kind that the one
// before it has, as checkpoint-600 those of checkpoint-500, has kStillForLonger.
//
//     still --something happened--> changing --kStillFor--> looking --all closed--> keeping -->
//     still
//
// It is passive, like AgentMachine. MemoryTier finds what happens while it takes
// a snapshot.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "agent/checkpoints/snapshot.hpp"
#include "base/clock.hpp"

namespace ddprun {

/// Ranks that save together may begin some time after one another.
inline constexpr std::chrono::milliseconds kStillFor{2'000};
inline constexpr std::chrono::seconds kStillForLonger{60};
/// The user hears of a file that has been open for that long.
inline constexpr std::chrono::seconds kTellOpenAfter{120};

// clang-format off
struct FolderTouched {};  // something was made, closed, renamed or removed there
struct FolderLooked { FolderState state; std::vector<std::string> open; };  // open for writing
struct SnapshotKept { bool kept = false; };  // false: the folder changed meanwhile
using SaveEvent = std::variant<FolderTouched, FolderLooked, SnapshotKept>;
// clang-format on

class SaveWatch {
 public:
  enum class Wants {
    kNothing,
    kLook,  // at the folder; answer: FolderLooked
    kKeep,  // the folder as it was seen; answer: SnapshotKept
  };

  /// What is to be done now. `kept`: the last snapshot.
  Wants step(const SaveEvent& event, const Snapshot& kept, TimePoint now);
  Wants look_due(TimePoint now);

  /// Whether nobody saves, as it was seen just now.
  bool is_still(const FolderLooked& seen) const;

  /// When look_due() may want something; nullopt: nothing to wait for.
  std::optional<TimePoint> next_look() const;

  /// A file that has kept a snapshot from being taken for kTellOpenAfter; "" else. Each is
  /// returned once.
  std::string told_open(TimePoint now);

  /// The workers of a round have ended, and the folder is as a snapshot has it.
  void begin_anew() { *this = SaveWatch{}; }

 private:
  Wants looked(const FolderLooked& seen, const Snapshot& kept, TimePoint now);

  enum class Doing { kNothing, kLooking, kKeeping };
  Doing doing_ = Doing::kNothing;
  TimePoint touched_{};               // the last time
  std::optional<TimePoint> look_at_;  // the next one
  std::string in_the_way_;            // a file that is open, or unfinished
  std::optional<TimePoint> in_the_way_since_;
  bool told_ = false;
};

}  // namespace ddprun
