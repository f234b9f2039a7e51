// VoterTable: the nodes of a job as its elections see them, and the witness. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/clock.hpp"
#include "rendezvous/messages/membership_messages.hpp"
#include "rendezvous/messages/message_limits.hpp"
#include "rendezvous/messages/voter_state.hpp"

namespace ddprun {

/// What a voter does about the coordinator that it is connected to.
enum class Stance {
  kUndecided,  // it is here for a vote, and has not promised to follow
  kFollows,    // it takes orders
};

struct Voter {
  NodeId id;
  VoterState state;      // as in its Join, with what was sent to it since
  JobCounters counters;  // as in its Join
  std::string standby;   // where its agent would coordinate, as HOST:PORT; "": nowhere
  bool witness = false;
  bool is_voter = true;   // false: perhaps another agent of a node that counts already
  bool connected = true;  // false: its connection has ended, and it may come back
  Stance stance = Stance::kFollows;
  TimePoint confirmed;       // when something was said to it that it is known to have heard
  std::int64_t asked = 0;    // the last epoch for which its vote was requested
  std::int64_t granted = 0;  // the last epoch for which it has voted
  bool aware = true;         // it is known to know of the proposed configuration
  int rank = -1;             // in the round that runs; -1: it is none of its nodes

  bool follows() const { return is_voter && stance == Stance::kFollows; }
};

class VoterTable {
 public:
  /// Adds the voter, or replaces what was known of it.
  Voter& put(Voter voter);
  void remove(const NodeId& id);

  Voter* find(const NodeId& id);
  const Voter* find(const NodeId& id) const;

  void set_stance(Voter& voter, Stance stance);
  void make_voter(Voter& voter);

  /// Whether the connections of all of them are whole.
  bool all_connected() const;
  /// Whether the agent of that voter listens where others can find out whether it is alive.
  bool can_be_probed(const NodeId& id) const;

  bool empty() const { return voters_.empty(); }
  std::size_t size() const { return voters_.size(); }
  /// How many voters are undecided; how many nodes follow, and how many witnesses.
  int undecided() const { return undecided_; }
  int nodes_following() const { return nodes_following_; }
  int witnesses_following() const { return witnesses_following_; }

  /// Calls `visit` with every voter, in the order of their ids.
  template <typename Visit>
  void for_each(Visit visit) {
    for (auto& [id, voter] : voters_) visit(voter);
  }
  template <typename Visit>
  void for_each(Visit visit) const {
    for (const auto& [id, voter] : voters_) visit(voter);
  }

 private:
  void count(const Voter& voter, int by);

  std::map<NodeId, Voter> voters_;
  int undecided_ = 0;
  int nodes_following_ = 0;
  int witnesses_following_ = 0;
};

}  // namespace ddprun
