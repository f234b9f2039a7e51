// JobCheckpoints decides which checkpoints of the program count for the whole job, and when they
// are written to disk. Pure. docs/internals/kept-checkpoints.md has the rules.
//
// Each node keeps what its own workers save, and none of them knows whether the others have ended.
// So a checkpoint has a number, and a part on each node:
//
//     nothing --a node has saved--> keeping --all have kept--> it counts
//                                   keeping --one is saving--> nothing, until that one has saved
//     it counts --> staging --all parts are beside those on disk--> moving --> it is on disk
//
// Each part that counts is copied to another node's memory. So a round begins with the newest one
// of which all parts are in some node's memory, and the nodes get from each other what they lack.
// Where a part is lost, or memory is short, the newest that is whole is brought to disk first, and
// all find it there. So it is before the job ends. A job on one node needs none of this: its agent
// does it alone, and only hears when an older one than the newest is to be loaded.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "rendezvous/leadership/coordinator_rules.hpp"
#include "rendezvous/messages/checkpoint_messages.hpp"
#include "rendezvous/rounds/coordinator_events.hpp"
#include "rendezvous/rounds/failed_loads.hpp"
#include "rendezvous/rounds/held_parts.hpp"
#include "rendezvous/rounds/job_state.hpp"
#include "rendezvous/rounds/roster.hpp"

namespace ddprun {

/// A node that has saved for the checkpoint before may begin that much later than others.
inline constexpr std::chrono::seconds kLateSave{60};
/// A disk that was full or gone is tried again.
inline constexpr std::chrono::seconds kWriteAgainAfter{30};

class JobCheckpoints {
 public:
  /// All of this must live longer.
  JobCheckpoints(const Roster& nodes, const CoordinatorRules& rules, const JobState& job,
                 Outbox& out)
      : nodes_{nodes}, rules_{rules}, job_{job}, out_{out} {}

  /// The node has these in memory.
  void holds(const NodeId& node, const HeldCheckpoints& held);
  void said(const NodeId& node, const CheckpointSaid& word, TimePoint now);
  /// The node is gone, with what it had in memory.
  void lost(const NodeId& node, TimePoint now);
  /// The node has another connection: what it was ordered, or has answered, may be lost.
  void came_back(const NodeId& node, TimePoint now);
  /// Somebody else coordinates the job.
  void stand_by();

  /// A round of that many nodes runs, which continues from that.
  void begin_round(int nodes, const RoundCheckpoint& from);
  /// So does a round that has begun under a coordinator before.
  void recover_round(int nodes);
  /// It stops: what was being kept is cut off.
  void end_round() {
    keep_.reset();
    runs_ = false;
  }
  /// Why it failed; nullptr: that is not known, or it has not.
  void round_failed(const Cause* cause);
  void tick(TimePoint now);
  std::optional<TimePoint> next_due() const;

  /// Brings to disk what can be, before the job ends. Returns whether that is done; else some node
  /// is to answer first.
  bool settle();

  /// A round is about to begin. Returns whether it is known which checkpoint it continues from;
  /// else some node is to answer first.
  bool is_ready();

  /// Where the next round begins, if it is_ready().
  RoundCheckpoint next() const;

 private:
  struct Keeping {
    int number = 0;
    bool at_end = false;  // nobody saves any more
    bool late = false;    // a node that has not begun by now has not saved
    std::set<NodeId> awaited;
    std::set<NodeId> changed;
    std::map<NodeId, CheckpointPart> sizes;  // bytes and times alone
    std::set<std::string> removed;
    bool refused = false;
    /// Whether it is to keep a part, or has: what it has kept and does not count may be gone.
    bool concerns(const NodeId& node) const {
      return awaited.contains(node) || sizes.contains(node);
    }
  };
  struct Writing {
    int number = 0;
    int parts = 1;
    std::map<int, NodeId> awaited;  // to stage these parts; empty: the mover moves them
    NodeId mover;
    bool in_vain =
        false;  // a round has begun with what is in memory while a node looks at the disk
    bool moves() const { return awaited.empty(); }
    bool waits_for(const NodeId& node) const;
  };
  /// What was done since the round ended.
  struct Settling {
    bool kept_end = false;    // the workers' last save is kept, or cannot be
    bool tried = false;       // to bring the newest to disk
    bool is_unknown = false;  // nobody could see what is on disk
    bool settled = false;     // it is known what is on disk
    /// Memory has nothing to begin with for that many nodes that wait, and none has told more.
    std::optional<int> in_vain_for;
  };

  bool on() const { return rules_.terms.checkpoints && !rules_.terms.has_one_node(); }
  std::vector<const Roster::Node*> members() const;
  void send(const NodeId& node, const CheckpointOrder& order);
  std::optional<RoundCheckpoint> in_memory() const;
  bool keep_last_save();
  void begin_keeping(bool at_end, bool late);
  void kept(const NodeId& node, const CheckpointSaid& word, TimePoint now);
  void conclude(TimePoint now);
  void staged(const NodeId& node, const CheckpointSaid& word, TimePoint now);
  bool begin_writing();
  void begin_moving(int number, int parts, const NodeId& mover);
  void moved(const CheckpointSaid& word, TimePoint now);
  void fail_to_write(TimePoint now);
  void do_without(const NodeId& node, TimePoint now);
  bool have_all_ended_well() const;

  const Roster& nodes_;
  const CoordinatorRules& rules_;
  const JobState& job_;
  Outbox& out_;
  HeldParts held_{nodes_};
  int round_nodes_ = 0;     // in the last round
  int number_ = 0;          // the greatest that anybody has heard of
  int counted_ = 0;         // the newest that counts
  CheckpointOrder counts_;  // says so of the last one of the round, without copies
  int written_ = 0;
  FailedLoads loads_;
  std::set<NodeId> writers_;  // saved something for the newest that counts
  std::optional<Keeping> keep_;
  std::optional<Writing> write_;
  std::set<NodeId> news_;              // have ended a save that they have not kept
  std::optional<TimePoint> late_at_;   // then a checkpoint counts without those that save late
  std::optional<TimePoint> write_at_;  // not before that
  bool runs_ = false;                  // the round, and nobody has been stopped
  Settling settling_;
  bool has_seen_all_ = false;  // nobody else has written to the disk since the round began
};

}  // namespace ddprun
