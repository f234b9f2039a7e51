// WitnessMachine decides how a `ddprun server` votes in one job that it does not host.
//
// Two nodes have no majority when one of them is lost. With a third vote they have: that of the
// witness. It takes part as a node does that has no workers, so it joins, beats and promises like
// one. But it connects to no other node: the coordinator and candidates come to it. It obeys one
// coordinator at a time, and sends others away while it hears that one.
// docs/internals/succession.md, section "The witness".
//
// It keeps what it knows in memory. One that is started again, or has forgotten a job, has another
// id, so it is a stranger to the rounds of before and has no vote in them. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.hpp"
#include "rendezvous/leadership/follower.hpp"
#include "rendezvous/messages/messages.hpp"
#include "rendezvous/messages/voter_state.hpp"

namespace ddprun {

/// The owner of the connections numbers them, and uses no number twice.
using WitnessPeer = std::int64_t;

/// Time that a candidate has to find enough votes. Then it may ask again, and so
/// may others.
inline constexpr std::chrono::milliseconds kWitnessPatience{1'000};

/// A job without connections is forgotten after its join timeout, but not before this time.
inline constexpr std::chrono::milliseconds kWitnessKeeps{3'600'000};
/// It reports a coordinator that it hears no more for this many heartbeat timeouts.
inline constexpr int kWitnessMemory = 2;

// These actions are to be performed, in their order.
// clang-format off
struct SayTo { WitnessPeer to; AgentMessage message; };
struct SendAway { WitnessPeer to; Redirect where; };  // and close the connection
struct HangUpOn { WitnessPeer to; };
using WitnessAction = std::variant<SayTo, SendAway, HangUpOn>;
// clang-format on

class WitnessMachine {
 public:
  /// `fresh_id` makes a unique id; `host` is the name of this machine.
  WitnessMachine(std::function<NodeId()> fresh_id, std::string host)
      : fresh_id_{std::move(fresh_id)}, host_{std::move(host)}, id_{fresh_id_()} {}

  // Each takes what has happened at `now`, and returns what is to be done. `now` never goes back.

  /// Somebody has connected, and asks for the vote.
  std::vector<WitnessAction> invited(WitnessPeer by, const InviteWitness& invitation,
                                     TimePoint now);
  /// A message of a peer that has asked for the vote.
  std::vector<WitnessAction> told(WitnessPeer by, const CoordinatorMessage& message, TimePoint now);
  /// Its connection has ended.
  std::vector<WitnessAction> lost(WitnessPeer peer, TimePoint now);
  std::vector<WitnessAction> tick(TimePoint now);

  /// When the next tick() is due; nullopt: only peers can change anything.
  std::optional<TimePoint> next_tick() const;

  /// Whose orders it obeys; none for a job that is over. When that one is lost, nodes of its round
  /// have kWitnessMemory heartbeat timeouts to come for the vote. Then only its place is reported,
  /// without an epoch.
  Leader leader(TimePoint now) const;
  /// Whether no node can want its vote any more, so that the job may be forgotten.
  bool is_forgotten(TimePoint now) const;

 private:
  struct Contact {
    WitnessPeer peer = 0;
    std::string coordinator;  // where it is
    TimePoint last_heard;
    std::optional<TimePoint> beat_due = {};      // nullopt: it has not admitted the witness yet
    std::optional<TimePoint> voting_until = {};  // it coordinates nothing yet
  };
  bool hears_another(const InviteWitness& invitation, TimePoint now) const;
  void forget();
  void join(TimePoint now);
  void obey(const CoordinatorMessage& message, TimePoint now);
  void joined(const Joined& answer, TimePoint now);
  void note_round(int round);
  void end(const EndJob& how);
  void beat(TimePoint now);
  void hang_up(TimePoint now);
  void part(TimePoint now);
  void say(AgentMessage message);
  TimePoint silence_ends() const;

  std::function<NodeId()> fresh_id_;
  std::string host_;
  NodeId id_;
  std::int64_t joins_ = 0;
  JobCounters known_;
  Follower follower_;
  std::optional<EndJob> end_;  // how the job has ended
  bool over_ = false;          // and all know it
  std::chrono::milliseconds heartbeat_timeout_{5'000};
  std::chrono::milliseconds join_timeout_{0};
  TimePoint alone_since_;
  std::optional<Contact> contact_;
  std::vector<WitnessAction> actions_;
};

}  // namespace ddprun
