// Seats: the places that a node's workers have in its round, and which of its workers wait, parked,
// for the next one. Pure. docs/internals/rounds.md, section "In place", has the rules.
#pragma once

#include <string>

#include "base/numbers.hpp"
#include "rendezvous/messages/in_place_messages.hpp"
#include "rendezvous/messages/voter_state.hpp"

namespace ddprun {

class Seats {
 public:
  /// Whether workers start that have no seat in the round that runs: all those of a node that
  /// waits, or those for vacant seats.
  enum class Preparation { kNone, kUnderWay, kDone };

  struct Parked {
    RankList workers;    // by local rank
    int world_size = 0;  // the only one of a round that they can enter; 0: they can enter any
  };

  /// The last round that the node was part of; 0: none.
  int round() const { return round_; }
  /// The node's rank in it; -1: none.
  int group_rank() const { return group_rank_; }
  /// The rank of its first worker in it.
  int first_rank() const { return first_rank_; }
  /// How many workers of the node are in it.
  int taken() const { return workers_ - static_cast<int>(vacant_.size()); }
  /// The local ranks of the node's workers that are among these ranks of it.
  RankList local_ranks_in(const RankList& ranks) const;
  /// The seats that no worker has in it, as StartRound names them.
  std::string vacant() const { return format_number_list(vacant_); }

  const Parked& parked() const { return parked_; }
  Preparation preparation() const { return preparation_; }
  /// Whether none of the node's workers could enter a round yet, and some are on their way.
  bool wait_for_workers() const;
  /// How many workers of the node would be in the next round.
  int taken_next() const { return workers_ - static_cast<int>(vacant_next().size()); }

  /// The node starts that many workers.
  void resize(int workers) { workers_ = workers; }
  /// The node is part of a round that begins.
  void enter(int round, int group_rank, int first_rank);
  /// The node is in that round, which has begun under a coordinator before.
  void take_back(const HostedAssignment& place);
  /// The node's agent has connected again. `resumes`: its workers are in their round still.
  void come_back(bool resumes);
  /// These workers wait for the next round, as the node has told.
  void park(const ParkedWorkers& told);
  void discard_parked() { parked_ = {}; }
  void begin_preparation() { preparation_ = Preparation::kUnderWay; }
  /// The workers that were started are parked, or have ended. Returns whether this was not known.
  bool end_preparation();

 private:
  RankList vacant_next() const;

  int workers_ = 0;
  int round_ = 0;
  int group_rank_ = -1;
  int first_rank_ = -1;
  RankList vacant_;
  Parked parked_;
  Preparation preparation_ = Preparation::kNone;
};

}  // namespace ddprun
