// WorkerProgress: how far the workers of this node are, as reported to the coordinator. Pure.
#pragma once

#include <map>

#include "agent/decisions/agent_state.hpp"
#include "base/clock.hpp"

namespace ddprun {

/// On average, a coordinator hears of the arrivals of about this many workers a second.
inline constexpr int kArrivalsPerSecond = 512;

class WorkerProgress {
 public:
  /// `agent` must outlive it.
  explicit WorkerProgress(AgentState& agent) : agent_{agent} {}

  void begin_round(int round, int world_size);
  /// A worker of the round has come so far.
  void note(const RankProgress& progress, TimePoint now);
  /// Tells how far the workers are: in the beats, so that a job of ten thousand workers is no more
  /// trouble than its nodes are, and before a round is over, when it would be too late.
  void tell(TimePoint now);
  /// Tells when a worker of the round has entered collectives. In a job of many workers that goes
  /// for some of the looks, which are the same ones on all nodes.
  void arrived(const WorkerArrived& worker);
  /// The coordinator has forgotten the reports.
  void tell_again() { untold_ = last_; }

 private:
  struct Seen {
    RankProgress progress;
    TimePoint at;
  };

  AgentState& agent_;
  int round_ = 0;
  int world_size_ = 0;
  std::map<int, Seen> untold_;  // by rank: what the next beat is to tell
  std::map<int, Seen> last_;    // by rank
};

}  // namespace ddprun
