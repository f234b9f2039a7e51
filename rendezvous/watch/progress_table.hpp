// ProgressTable: how far each worker of a round is, by its agent's last report.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/clock.hpp"
#include "rendezvous/messages/progress.hpp"

namespace ddprun {

class ProgressTable {
 public:
  struct Rank {
    RankProgress last;
    /// Nothing of it has changed since then, except for the use of its CPU; or it was not judged
    /// before that: see suspend().
    TimePoint since;
    bool moved = false;  // it has gone on at least once: a collective was done, or a step
  };

  /// Forgets all and begins a round of that many workers.
  void begin_round(int world_size, TimePoint now);

  /// Notes a report that came at `now`. Ranks that are not in the round are passed over.
  void take(const RankProgress& told, TimePoint now);

  /// From now to resume() a rank may stand still as long as it likes, as somebody debugs the job.
  /// Those that do are then as if they had gone on at that moment.
  void suspend() { suspended_ = true; }
  void resume(TimePoint now);

  /// Returns the last report of a rank; nullptr if there is none.
  const Rank* find(int rank) const;

  /// The last collective of that group that the rank has entered, as far as it was reported;
  /// nullopt: it is not known to belong to the group.
  std::optional<std::int64_t> entered(int rank, const std::string& group) const;

  /// All reported ranks.
  const std::map<int, Rank>& ranks() const { return ranks_; }
  int world_size() const { return world_size_; }
  /// The beginning of the round, or of what counts of it: no rank stands still for longer.
  TimePoint began() const { return began_; }

  /// The longest time in which a worker stood still and then went on, as its agent has seen it.
  std::chrono::milliseconds longest_pause() const { return longest_pause_; }

 private:
  bool teaches(const RankProgress& told, TimePoint now) const;

  int world_size_ = 0;
  TimePoint began_;
  bool suspended_ = false;
  std::optional<TimePoint> resumed_;
  std::chrono::milliseconds longest_pause_{0};
  std::map<int, Rank> ranks_;
};

}  // namespace ddprun
