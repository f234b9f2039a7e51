// ExtraVoter decides who votes beside the nodes of a round, and what a witness has to know before
// it counts. Pure. docs/internals/succession.md, section "One more voter".
//
// Of an even number of nodes one half is no majority, so one more votes with them: a witness, or
// else a spare. With an odd number it would only be one more that may be missing.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "rendezvous/leadership/commitment.hpp"
#include "rendezvous/leadership/lease_times.hpp"
#include "rendezvous/leadership/voter_table.hpp"
#include "rendezvous/messages/round_messages.hpp"

namespace ddprun {

/// Pause between two invitations of a witness, by a leader and by a candidate.
inline constexpr std::chrono::milliseconds kInvitePause{1'000};
inline constexpr std::chrono::milliseconds kCandidateInvitePause{50};

/// Finds the spare that takes the place of the next node that is lost; "": there is none. Of
/// thousands of nodes that takes a while.
using FirstSpare = std::function<NodeId()>;

class ExtraVoter {
 public:
  /// The witness that is here; "": none is.
  const NodeId& witness() const { return witness_; }
  void take(const NodeId& witness) {
    witness_ = witness;
    attempt_sent_ = 0;
  }
  void leave(const NodeId& id) {
    if (witness_ == id) witness_.clear();
  }

  /// The one that votes in the proposed configuration beside its nodes; "": none does.
  const NodeId& voting() const { return voting_; }
  /// Whether that is a spare, and no witness.
  bool is_spare() const { return is_spare_; }
  /// A round begins in which only nodes vote.
  void begin_round() { change(nullptr); }

  /// Whether a witness is to be invited now.
  bool invites(bool wanted, bool leads, TimePoint now);
  /// When the next invitation is due, if one is wanted.
  TimePoint next_invitation() const { return invite_due_; }

  /// The one that is to vote beside that many nodes of a round; "": none. A spare that votes keeps
  /// its vote as long as it follows and has no place in the round.
  NodeId wanted(int round_nodes, const VoterTable& voters, const FirstSpare& first_spare) const;
  /// Whether it is time to ask for that.
  bool is_due(TimePoint now) const { return now >= change_due_; }
  void put_off(std::chrono::milliseconds heartbeat_timeout, TimePoint now) {
    change_due_ = now + kLeaseCheck.of(heartbeat_timeout);
  }
  /// This one votes from now on; nullptr: none does.
  void change(const Voter* voting) {
    voting_ = voting != nullptr ? voting->id : NodeId{};
    is_spare_ = voting != nullptr && !voting->witness;
  }

  /// The order that the witness has to get before a round with that attempt begins; nullopt:
  /// nothing more. `alone`: the nodes elect without it.
  std::optional<StopRound> tell_attempt(int attempt, bool alone, int round, VoterTable& voters);
  /// Whether it knows the attempt that it has to know.
  bool knows_attempt(const VoterTable& voters) const;
  /// It has answered, so it knows the attempt that it got.
  void answered(VoterTable& voters);

 private:
  NodeId witness_;
  NodeId voting_;
  bool is_spare_ = false;   // `voting_` is one
  int attempt_sent_ = 0;    // the last attempt that the witness got
  int attempt_needed_ = 0;  // that it must know before the next round
  TimePoint change_due_;    // when it is asked again who is to vote
  TimePoint invite_due_;
};

}  // namespace ddprun
