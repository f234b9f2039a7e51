// CoordinatorSearch: where this node's agent goes to find who coordinates the job. Pure.
//
// At the beginning it asks at the job's endpoint, or at several places in turn. When the connection
// ends, it comes back to the same coordinator while the workers run on, if their lease allows it.
// When the coordinator is lost, the workers are stopped, and then SuccessorSearch says where to ask
// for its successor. docs/internals/succession.md.
//
// Functions that may find no place left to try return how the agent ends; nullopt: it
// goes on.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/decisions/agent_state.hpp"
#include "agent/decisions/successor_search.hpp"
#include "agent/decisions/turns.hpp"
#include "agent/decisions/worker_round.hpp"
#include "base/clock.hpp"

namespace ddprun {

enum class Loss { kClosed, kSilent };  // how the connection to a coordinator is lost

/// Connections that were lost soon, one after the other, and with no round since.
class LossesInARow {
 public:
  /// A connection was lost. One that held for some time was no loss in vain: a spare may wait for
  /// days.
  void count(bool was_soon, TimePoint now);
  void reset() { *this = {}; }
  /// How long this has gone on; 0 after the first one.
  std::chrono::milliseconds lasted(TimePoint now) const;
  /// The pause before joining again: none at first, then those of attempts that fail.
  std::chrono::milliseconds pause() const;

 private:
  int count_ = 0;
  TimePoint first_;
};

class CoordinatorSearch {
 public:
  /// What the node is about.
  enum class Aim {
    kNone,         // it follows a coordinator, or has not begun
    kMeet,         // it asks at the job's endpoint until its patience ends
    kLookAround,   // as a newcomer, it asks at several places in turn
    kResume,       // it comes back to the coordinator, while its workers run on
    kStopWorkers,  // its workers are stopped first
    kSucceed,      // it asks for the coordinator's successor
  };
  using End = std::optional<AgentEnd>;

  /// `agent` and `workers` must outlive it.
  CoordinatorSearch(AgentState& agent, WorkerRound& workers);

  Aim aim() const { return aim_; }
  /// Whether it asks at one place after the other.
  bool takes_turns() const { return aim_ == Aim::kLookAround || aim_ == Aim::kSucceed; }
  /// Whether who follows a coordinator that is lost may soon be found.
  bool finds_successor() const;

  End begin(TimePoint now) { return meet(agent_.rules.terms.join_timeout, now); }
  /// A connection was made, to that place in place of the one that was wished, if it has a name.
  void connected(const std::string& place, std::optional<TimePoint> asked, TimePoint now);
  /// No place has answered.
  End unreachable(const CoordinatorUnreachable& event, TimePoint now);
  /// The connection has ended.
  End lost(Loss loss, const std::string& reason, TimePoint now);
  /// Gives up the node that listens there, and does not lead.
  End give_up_candidate(TimePoint now);
  End redirected(const Redirect& order, TimePoint now);
  /// Whether the node looks on after it was refused so.
  bool looks_on_after(const Refused& answer) const;
  /// This node has joined, and follows. Returns whether it has come back with its workers running.
  bool joined(const Joined& answer);
  /// Nothing of the round is alive any more, after kStopWorkers.
  End workers_stopped(TimePoint now);

  /// This node's workers begin a round, so joining was not in vain.
  void round_begins() { losses_.reset(); }

  /// How long a candidate may look for votes.
  std::chrono::milliseconds patience_with_candidate() const;

 private:
  End meet(std::chrono::milliseconds patience_with_refusals, TimePoint now);
  End look_around(TimePoint now);
  End try_next(TimePoint now);
  End try_next_place(TimePoint now);
  End resume(TimePoint now);
  End stop_workers(const std::string& reason, TimePoint now);
  End succeed(TimePoint now);
  End follow(const Redirect& order, TimePoint now);
  const std::string& here() const;
  void part(TimePoint now);
  void reach(Attempt attempt, TimePoint now);

  AgentState& agent_;
  WorkerRound& workers_;
  std::unique_ptr<SuccessorSearch> successor_search_;  // never null
  Aim aim_ = Aim::kNone;
  std::optional<Turns> turns_;   // set: takes_turns()
  std::string reaching_;         // the place that is tried, as ReachCoordinator's `at`
  std::string try_first_;        // that is to be tried before all others
  bool met_ = false;             // there has been a connection
  std::int64_t redirected_ = 0;  // the greatest epoch of whom it was sent to, and has not joined
  std::string server_;  // the place of a server that lets workers run on without it, as `at`
  LossesInARow losses_;
};

}  // namespace ddprun
