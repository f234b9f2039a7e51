// Follower: what a voter of a job, an agent or a witness, has promised and knows. Its Join and its
// heartbeats carry that, and possible successors of a lost leader decide by it. Pure.
// docs/internals/succession.md.
#pragma once

#include <chrono>
#include <cstdint>
#include <set>
#include <string>

#include "base/clock.hpp"
#include "rendezvous/messages/membership_messages.hpp"
#include "rendezvous/messages/round_messages.hpp"
#include "rendezvous/messages/succession_messages.hpp"
#include "rendezvous/messages/voter_state.hpp"

namespace ddprun {

class Follower {
 public:
  /// What it knows, but for how long a leader may count on it, and who was found gone: see told().
  const VoterState& state() const { return state_; }
  /// What it knows at `now`, as a Join tells it.
  VoterState told(TimePoint now) const;

  /// Whether it has heard of a round whose leader can be followed by another one.
  bool knows_a_round() const;
  /// Whether who has admitted it may give it orders: it has promised nothing that forbids it.
  bool accepts(const Joined& answer) const;
  /// Follows who has answered so, at that endpoint, from now on.
  void follow(const Joined& answer, const std::string& endpoint);
  /// Promises to follow no leader of a smaller epoch. Returns whether that is more than before.
  bool promise(std::int64_t epoch, TimePoint now);
  /// No process listens any more where its last leader was. `counted`: that leader had not lost
  /// this node, so it has begun no round without it.
  void find_leader_gone(bool counted);
  /// Whether that leader counts on this node still, as far as it can know.
  bool is_counted(std::chrono::milliseconds heartbeat_timeout, TimePoint now) const;
  /// The agent of that rank in the proposed configuration is gone, and its workers with it.
  void find_member_gone(int rank) { gone_.insert(rank); }

  /// Takes in what a leader tells of configurations.
  void hear(const StartRound& round);
  void hear(const Spare& round);
  void hear(const Reconfigure& round);
  void hear(const Beat& beat);
  /// Its part in a round of a `ddprun server`.
  void note_assignment(const StartRound& round);

  /// The leader's clock said so when it was heard; 0: it was not told.
  void hear_clock(std::int64_t clock_us, TimePoint now);
  /// A heartbeat that repeats what was heard of the leader's clock, and says what it knows.
  Beat beat(TimePoint now);
  /// The connection to the leader is over, which may count on this one for a while yet.
  void part(std::chrono::milliseconds heartbeat_timeout);

 private:
  void note_round(const Configuration& proposed, Configuration committed);
  void commit(const Configuration& round);

  VoterState state_;
  std::set<int> gone_;         // ranks of nodes that were found gone, in the proposed configuration
  int leader_rank_ = -1;       // the leader's own, in the proposed configuration; -1: none is known
  std::int64_t clock_us_ = 0;  // the leader's clock, as it has said last
  TimePoint clock_heard_;      // when it was heard
  TimePoint repeated_;         // when that was heard which a heartbeat has repeated
  TimePoint counted_until_;    // by the leader that it followed last
};

}  // namespace ddprun
