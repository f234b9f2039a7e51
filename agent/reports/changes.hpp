// What differs from the last good run of the same script, for the report of a job that failed.
// Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ddprun {

/// What it is that differs.
enum class ChangeKind {
  kFile,       // the script's; both texts are kHashBegins and a SHA-256
  kArguments,  // the script's
  kOption,     // an option of ddprun; kFlagIsOn stands for its value if it has none
  kVariable,   // a variable of the environment
  kVersion,    // the version of a program or a library
  kProgram,    // the program that is run
  kNumber,     // how many there are of something
  kNode,       // a node: one that is new has its host in `now`, one that is gone in `before`
};

/// One thing that differs. An empty text says that it was not there, or is not there now.
struct Change {
  ChangeKind kind = ChangeKind::kVersion;
  std::string what;  // its name: "train.py", "arguments", "--nnodes", "NCCL_DEBUG", "torch", "node"
  std::string before;
  std::string now;
  bool operator==(const Change&) const = default;
};

inline constexpr char kHashBegins[] = "sha256:";
/// A report has at most this many.
inline constexpr std::size_t kChangesMax = 64;

struct SinceGoodRun {
  std::string when;             // the end of the good run in UTC: "2026-11-27T06:13:35Z"
  std::int64_t age_s = 0;       // how long before the end of this job that was
  std::vector<Change> changes;  // empty: nothing of what is recorded differs
  bool operator==(const SinceGoodRun&) const = default;
};

/// "since it worked, 2 hours before: train.py changed, torch 2.10.0 → 2.11.0, node h3 is new". One
/// line; of many changes it shows the first ones.
std::string changes_text(const SinceGoodRun& since);

}  // namespace ddprun
