// WitnessSeat decides when a witness votes beside the nodes of a job, and what it has to know
// before it counts. Pure. docs/succession.md, section "The witness".
//
// Of an even number of nodes one half is no majority, so a witness votes with them. With an odd
// number it would only be one more who may be missing.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "rendezvous/leadership/commitment.hpp"
#include "rendezvous/leadership/lease_times.hpp"
#include "rendezvous/leadership/voter_table.hpp"

namespace ddprun {

/// Pause between two invitations of a witness, by a leader and by a candidate.
inline constexpr std::chrono::milliseconds kInvitePause{1'000};
inline constexpr std::chrono::milliseconds kCandidateInvitePause{50};

class WitnessSeat {
 public:
  /// The witness that is here; "": none is.
  const NodeId& id() const { return id_; }
  void take(const NodeId& id) {
    id_ = id;
    attempt_sent_ = 0;
  }
  void leave(const NodeId& id) {
    if (id_ == id) id_.clear();
  }

  /// The one that votes in the proposed configuration; "": none does.
  const NodeId& voting() const { return voting_; }
  /// A round begins in which only nodes vote.
  void begin_round() { voting_.clear(); }

  /// Whether a witness is to be invited now.
  bool invites(bool wanted, bool leads, TimePoint now);
  /// When the next invitation is due, if one is wanted.
  TimePoint next_invitation() const { return invite_due_; }

  /// The witness that is to vote in a round of so many nodes; "": none is.
  NodeId wanted_voter(int round_nodes, const VoterTable& voters) const;
  /// Whether the voters of a round of so many nodes are to change: a witness has come or gone.
  bool wants_change(int round_nodes, const VoterTable& voters, TimePoint now) const;
  void put_change_off(std::chrono::milliseconds heartbeat_timeout, TimePoint now) {
    change_due_ = now + kLeaseCheck.of(heartbeat_timeout);
  }
  void change(const NodeId& voting) { voting_ = voting; }

  /// What the witness has to be told before a round with that attempt begins; nullopt: nothing
  /// more. `alone`: the nodes elect without it.
  std::optional<StopRound> tell_attempt(int attempt, bool alone, int round, VoterTable& voters);
  /// Whether it knows all that has to be told.
  bool knows_attempt(const VoterTable& voters) const;
  /// It has answered, so it knows the attempt that it was told.
  void answered(VoterTable& voters);

 private:
  NodeId id_;
  NodeId voting_;
  int attempt_sent_ = 0;    // the last attempt that it was told of
  int attempt_needed_ = 0;  // that it must know before the next round
  TimePoint change_due_;    // when a change of voters is looked at again
  TimePoint invite_due_;
};

}  // namespace ddprun
