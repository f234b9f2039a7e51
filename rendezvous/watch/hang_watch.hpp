// HangWatch: from how far each worker is, it tells when the job hangs, who waits, and who has not
// come.
//
// A worker that is slow is no hang as long as collectives are done. What counts is that workers
// wait, and that nothing of those that they wait for goes on either. docs/hangs.md has the
// rules.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "rendezvous/messages/hang_report.hpp"
#include "rendezvous/messages/job_terms.hpp"
#include "rendezvous/watch/progress_table.hpp"

namespace ddprun {

/// Nothing is called a hang before so much time has passed, unless the user has said how much.
inline constexpr std::chrono::milliseconds kLearnedTimeoutMin{60'000};
/// This many times the longest pause of a job is a hang.
inline constexpr int kPausesPerTimeout = 10;
/// If the timeout is learned, ranks that wait for a worker that computes have more patience: rank 0
/// may evaluate or save alone for minutes.
inline constexpr int kPatienceWithBusy = 3;
/// A worker that computes may still be on its way to the first process group: it has this time, or
/// 10 s of CPU if it uses these up earlier, in which all others have started as well.
inline constexpr std::chrono::milliseconds kStartPatience{120'000};

/// Ranks that wait in one place for others, which are not there.
struct WaitingRanks {
  std::string group;  // "": in the store
  std::int64_t sequence = 0;
  std::vector<int> waiting;  // ranks, ascending
  std::vector<int> awaited;  // ranks, ascending; empty: it is unknown for whom they wait
};

/// In what a worker has waited until it gave up by itself. Then no further time is given.
enum class GaveUp { kNobody, kCollective, kStore };

/// What looks like a hang.
struct Suspicion {
  HangReport::Kind kind = HangReport::Kind::kMissing;
  std::string group;                    // in which they wait; "": in the store, or in nothing
  std::int64_t sequence = 0;            // the collective's in that group
  std::vector<int> missing;             // ranks, ascending
  std::vector<int> waiting;             // ranks, ascending
  std::chrono::milliseconds silent{0};  // how long none of them has gone on
  GaveUp gave_up = GaveUp::kNobody;     // on what a worker has failed because its own time was over
  std::vector<WaitingRanks> waits = {};  // kDeadlock: all of them, the greatest first
};

/// How long workers may stand still.
struct HangPatience {
  std::chrono::milliseconds timeout{0};
  bool learned = false;  // and not said by the user: then one rather says nothing than too much
};

/// Returns the patience by what the user has said (see JobTerms), or as it was learned; nullopt:
/// for ever.
std::optional<HangPatience> hang_patience(std::chrono::milliseconds said,
                                          const ProgressTable& table);

/// Whether the workers have hung at `now`, and how.
std::optional<Suspicion> suspect(const ProgressTable& table, HangPatience patience, TimePoint now);

/// Whether any rank that waited or was missed has gone on since the suspicion arose at `then`.
bool is_over(const Suspicion& suspicion, const ProgressTable& table, TimePoint then);

}  // namespace ddprun
