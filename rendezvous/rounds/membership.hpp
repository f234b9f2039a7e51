// Decides who may take part in a job: who goes by the same, and who is taken for lost. Pure.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "rendezvous/leadership/coordinator_rules.hpp"
#include "rendezvous/messages/membership_messages.hpp"
#include "rendezvous/rounds/roster.hpp"

namespace ddprun {

/// Returns the rules of a job whose first node is the one that joins.
CoordinatorRules rules_of(const Join& join);

/// Returns a sentence that names the first option in which the node differs from the job, with both
/// values; nullopt when all agree that have to.
std::optional<std::string> difference(const CoordinatorRules& rules, const Join& join);

/// This many spares may wait beyond the number of nodes of a round: all nodes of a job may be
/// replaced at the same time, and some may come back before their dead agents are noticed.
inline constexpr std::size_t kSparesReserve = 16;
/// A node that is heard this long after another one has asked for its rank is alive: the message
/// cannot have been sent before a death.
inline constexpr std::chrono::milliseconds kProofOfLifeMax{5'000};

class Membership {
 public:
  /// `rules` must live longer.
  Membership(const CoordinatorRules& rules, TimePoint now) : rules_{rules}, last_step_{now} {}

  Roster& nodes() { return nodes_; }
  const Roster& nodes() const { return nodes_; }

  /// Why the node cannot take part; nullopt when it can.
  std::optional<std::string> refusal_of(const Join& join) const;

  Roster::Node& add(PeerId peer, const Join& join, const std::string& address, TimePoint now);

  /// Something was heard of the node, so it is alive, and no other node gets its rank. Returns
  /// those that have asked for it, and why they are refused: a node that asks for the rank of one
  /// that is not heard waits until that is lost, for it may be the same machine, started again.
  struct Refusal {
    NodeId node;
    std::string reason;
  };
  std::vector<Refusal> hear(Roster::Node& node, TimePoint now);

  /// The node that has been silent for too long; nullptr: none has.
  Roster::Node* silent(TimePoint now);

  /// A coordinator that was itself stopped (by Ctrl-Z, on a frozen machine) has read no
  /// message meanwhile, so no node's silence counts until now. Returns how long it was, 0 for not
  /// at all. To be called before each event.
  Clock::duration forgive_own_sleep(TimePoint now);

  /// When somebody's silence is to be looked at.
  std::optional<TimePoint> next_due() const;

 private:
  const CoordinatorRules& rules_;
  Roster nodes_;
  int arrivals_ = 0;  // nodes that were admitted so far
  TimePoint last_step_;
};

}  // namespace ddprun
