// What happens to a job's coordinator, and what it does: the events and actions of
// CoordinatorMachine. Pure.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "rendezvous/leadership/leadership.hpp"
#include "rendezvous/messages/messages.hpp"
#include "rendezvous/rounds/node_history.hpp"
#include "rendezvous/rounds/roster.hpp"

namespace ddprun {

// These events may happen. An agent's first message over a connection is its Join; the other
// messages of a connection that is no node's are passed over.
// clang-format off
struct FromPeer { PeerId peer; AgentMessage message; std::string address = {}; };  // its host's
struct PeerLost { PeerId peer; std::string reason; };  // the connection has ended
struct Probed { NodeId node; bool refused; };          // the answer to Probe
struct StoreGone { int round; std::string reason; };   // OpenStore's port is not free
// The answer to RecallNodes; nullopt: nothing is remembered of earlier jobs.
struct NodesRecalled { int question; std::optional<std::vector<NodeFailure>> failures; };
struct Tick {};                                        // the time has come: see next_tick()
using CoordinatorEvent = std::variant<FromPeer, PeerLost, Probed, StoreGone, NodesRecalled, Tick, HigherEpoch,
                                      AgentFollows, LeadersFound, ElectedByEtcd, LeaseHeld,
                                      MembersWritten, MembersExpired, VerdictPublished>;

/// How a probe tells a process that is ending from a live one. A live process accepts the
/// connection and stays silent; an ending one may still accept it, and closes it at once.
struct ProbeTimes {
  std::chrono::milliseconds connect{1'000};
  std::chrono::milliseconds hang_up{50};  // that an ending process takes at most
  int tries = 4;
};

// These actions are to be performed, in the order in which step() returns them.
struct SendTo { PeerId peer; CoordinatorMessage message; };
struct DropPeer { PeerId peer; std::string reason; };  // send what is queued, close the connection
// Empty the store and close its connections. With a port: listen there, or StoreGone.
struct OpenStore { int round; int world_size; int port = 0; };
struct Probe { NodeId node; std::string endpoint; ProbeTimes times = {}; };  // does anybody listen
                                                       // there? then Probed
struct RecallNodes { int question; };  // which nodes have failed before; then NodesRecalled
struct RememberNode { NodeFailure failure; };  // for this job and others
using CoordinatorAction = std::variant<SendTo, DropPeer, OpenStore, Probe, RecallNodes, RememberNode,
                                       AskLeaders, InviteWitnesses, AnnounceLeader, WriteMembers,
                                       PublishVerdict>;
// clang-format on

/// Collects the actions of a step.
class Outbox {
 public:
  void send(PeerId peer, CoordinatorMessage message) {
    actions_.push_back(SendTo{peer, std::move(message)});
  }
  void drop(PeerId peer, std::string reason) {
    actions_.push_back(DropPeer{peer, std::move(reason)});
  }
  /// The agent has to join somewhere else, and its connection ends.
  void send_away(PeerId peer, const Redirect& where, std::string reason) {
    send(peer, where);
    drop(peer, std::move(reason));
  }
  void add(CoordinatorAction action) { actions_.push_back(std::move(action)); }

  /// To all nodes, but to no witness.
  void send_to_nodes(const Roster& nodes, const CoordinatorMessage& message);
  /// To the nodes of the round that runs.
  void send_to_members(const Roster& nodes, const CoordinatorMessage& message);
  /// To the nodes that stop their workers.
  void send_to_stopping(const Roster& nodes, const CoordinatorMessage& message);

  /// What has been collected. The beats among it say whether the round's workers may stay.
  std::vector<CoordinatorAction> take(bool may_stay);

 private:
  std::vector<CoordinatorAction> actions_;
};

/// A node has joined. `resumed`: its workers run on.
VoterJoined voter_joined(const Roster::Node& node, bool resumed);

/// Whether the workers of the node may outlive its connection.
bool outlives(const Roster::Node& node, const Leadership& leadership);

}  // namespace ddprun
