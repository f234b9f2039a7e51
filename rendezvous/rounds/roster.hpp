// Roster: the nodes of a job, as CoordinatorMachine keeps them.
//
// A node is known by the id of its agent, which stays, and by the connection that the agent has at
// the moment. Every message asks who its node is, how many nodes are still stopping, and who has
// been silent for longest. The answers take no longer with ten thousand nodes than with ten.
#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/numbers.hpp"
#include "rendezvous/messages/end_messages.hpp"
#include "rendezvous/messages/membership_messages.hpp"
#include "rendezvous/messages/message_limits.hpp"
#include "rendezvous/messages/voter_state.hpp"

namespace ddprun {

/// One connection of an agent. The owner of the connections numbers them, and uses no number twice.
using PeerId = std::int64_t;

/// Seats: the places that a node's workers have in its round, and which of its workers wait,
/// parked, for the next one. docs/internals/rounds.md, section "In place", has the rules.
class Seats {
 public:
  /// Whether workers start that have no seat in the round that runs: all those of a node that
  /// waits, or those for vacant seats.
  enum class Preparation { kNone, kUnderWay, kDone };

  struct Parked {
    RankList workers;    // by local rank
    int world_size = 0;  // the only one of a round that they can enter; 0: they can enter any
  };

  /// The last round that the node was part of; 0: none. In it, its rank, and its first worker's.
  int round() const { return round_; }
  int group_rank() const { return group_rank_; }
  int first_rank() const { return first_rank_; }
  /// How many workers of the node are in it.
  int taken() const { return workers_ - static_cast<int>(vacant_.size()); }
  /// Whether a worker of the node has that rank in it.
  bool holds(int rank) const {
    return first_rank_ >= 0 && rank >= first_rank_ && rank - first_rank_ < taken();
  }
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

class Roster {
 public:
  /// A node's phase says what it is doing, as far as its messages tell.
  enum class Phase {
    kReady,       // no workers, waiting for a round
    kRunning,     // its workers run
    kFinished,    // its workers have all ended well
    kStopping,    // it was ordered to stop its workers, and has not answered
    kContending,  // it asks for a rank that another node has, which may be dead
    kVoting,      // no workers, and it has not promised to obey this coordinator yet
    kWitnessing   // a witness, which obeys this coordinator, and never has workers
  };

  class Node {
   public:
    const NodeId& id() const { return join.node; }
    PeerId peer() const { return peer_; }
    Phase phase() const { return phase_; }
    TimePoint last_heard() const { return last_heard_; }
    /// Its workers run, or have all ended well.
    bool is_in_round() const { return phase_ == Phase::kRunning || phase_ == Phase::kFinished; }

    Join join;                           // its own words about itself
    std::string address;                 // from which its agent has connected
    int arrival = 0;                     // how many nodes came before it
    Seats seats;                         // its workers' places
    int workers_left = 0;                // in the round, without a failure that it has told of
    TimePoint contends_since;            // kContending
    std::optional<Preempt> announced;    // the end, by the scheduler, while the node was a spare
    std::optional<std::string> away;     // why its connection has ended; it may come back
    std::optional<EndJob> final_status;  // the job's under a coordinator before, as it reports

    /// Why it takes part only while others are too few: "caused 3 failures within 1d"; "": it is
    /// as good as others.
    const std::string& objection() const { return objection_; }

   private:
    friend Roster;
    std::string objection_;
    PeerId peer_ = 0;
    Phase phase_ = Phase::kReady;
    bool stays_ = false;  // kRunning, and all its workers can stay when members change
    TimePoint last_heard_;
    std::list<Node*>::iterator place_;  // in by_silence_
  };

  /// Adds a node that was heard at `now`, and returns it. It is ready, or contends when another
  /// node has asked for its rank already; a witness is witnessing. No node of that id may be there,
  /// and none with that peer.
  Node& add(PeerId peer, Join join, int arrival, TimePoint now);

  /// Removes a node. When that had the rank that others contend for, the oldest of these has it
  /// now, and is returned; its phase is unchanged. Otherwise nullptr.
  Node* remove(Node& node);

  /// The agent has connected again: its messages come from `peer` now, and it says `join` of
  /// itself. The node was heard at `now`. It keeps its place and its phase.
  void reconnect(Node& node, PeerId peer, Join join, TimePoint now);

  /// Returns the node of that id; nullptr when it is not there.
  Node* find(const NodeId& id);
  const Node* find(const NodeId& id) const;
  /// The node of the running round whose worker has that rank; nullptr: there is none.
  const Node* with_rank(int rank) const;
  /// Returns the node whose agent has that connection; nullptr when none has.
  Node* with_peer(PeerId peer);
  bool has_peer(PeerId peer) const { return by_peer_.contains(peer); }
  /// Returns the witness; nullptr when none is there.
  const Node* witness() const { return find(witness_); }
  /// Returns the node that has asked for `rank` first; nullptr when none has.
  const Node* with_wanted_rank(int rank) const;
  /// Returns those that contend for the rank of `node`, in the order in which they came.
  std::vector<Node*> contenders_of(const Node& node) const;

  /// Whether somebody who is here has stopped its workers of the round that this node says to run,
  /// or knows that it was to be stopped.
  bool knows_more_than(const Join& join) const;

  /// Removes all nodes.
  void clear();

  bool empty() const { return nodes_.empty(); }
  std::size_t size() const { return nodes_.size(); }
  int count(Phase phase) const { return counts_[static_cast<std::size_t>(phase)]; }
  void set_phase(Node& node, Phase phase);

  /// All workers of the node can stay when members change; or no longer. It counts if it is
  /// running.
  void let_stay(Node& node, bool stays);
  /// How many nodes there are that run such workers.
  int staying() const { return staying_; }

  /// Notes why the node is to take part only while others are too few; "": nothing is against it.
  void object(Node& node, std::string objection);
  /// How many nodes are ready that something is against, and whose rank another one could have.
  int objected() const { return objected_; }

  /// Notes that `node` was heard at `now`, which never goes back from one call to the next.
  void heard(Node& node, TimePoint now);
  /// Notes the same of every node.
  void all_heard(TimePoint now);
  /// Returns the node that was heard longest ago. The roster must not be empty.
  Node& most_silent() { return *by_silence_.front(); }
  const Node& most_silent() const { return *by_silence_.front(); }

  /// Calls `visit` with every node, in the order of their ids.
  template <typename Visit>
  void for_each(Visit visit) {
    for (auto& [id, node] : nodes_) visit(node);
  }
  template <typename Visit>
  void for_each(Visit visit) const {
    for (const auto& [id, node] : nodes_) visit(node);
  }

 private:
  int& counter(Phase phase) { return counts_[static_cast<std::size_t>(phase)]; }
  static int counts_as_objected(const Node& node);

  std::map<NodeId, Node> nodes_;
  std::map<PeerId, Node*> by_peer_;
  std::map<int, std::vector<Node*>> by_wanted_rank_;  // the first has it, the others contend
  std::list<Node*> by_silence_;                       // the node that was heard last is last
  std::array<int, 7> counts_{};                       // by phase
  int staying_ = 0;                                   // nodes whose stays_ is true
  int objected_ = 0;                                  // as objected()
  NodeId witness_;                                    // the one that is there; "": none is
};

/// How many nodes of the running round are still there.
inline int nodes_in_round(const Roster& nodes) {
  return nodes.count(Roster::Phase::kRunning) + nodes.count(Roster::Phase::kFinished);
}

/// Where the node's agent would coordinate the job, as HOST:PORT.
/// "": nowhere.
std::string standby_endpoint(const Roster::Node& node);

}  // namespace ddprun
