// HeldParts: which node has which parts of the program's checkpoints in memory, as nodes have told.
// Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "rendezvous/messages/checkpoint_messages.hpp"
#include "rendezvous/messages/message_limits.hpp"
#include "rendezvous/rounds/roster.hpp"

namespace ddprun {

/// A checkpoint of which all parts are in the memory of nodes that are here.
struct WholeCheckpoint {
  struct Holder {
    NodeId node;
    CheckpointPart part;
  };
  int number = 0;
  int parts = 1;
  /// The nodes with each part: first the nodes whose workers have saved it, then those with a copy.
  std::map<int, std::vector<Holder>> holders;
};

class HeldParts {
 public:
  /// `nodes` must live longer.
  explicit HeldParts(const Roster& nodes) : nodes_{nodes} {}

  void tells(const NodeId& node, const HeldCheckpoints& held) { told_[node] = {held, true}; }
  /// What it holds is not sure until it tells that.
  void doubt(const NodeId& node) { told_[node].is_known = false; }
  void lost(const NodeId& node) { told_.erase(node); }
  void clear() { told_.clear(); }

  /// That part counts now, or is copied now.
  void note(const NodeId& node, const CheckpointPart& part);
  void note_copy(const NodeId& node, int number, int part);
  /// Workers run again.
  void begin_round();

  /// It is known of at most that many nodes what they hold.
  int nodes() const { return static_cast<int>(told_.size()); }
  /// Whether it is known what the node holds.
  bool knows(const NodeId& node) const;
  bool has_ended_well(const NodeId& node) const;
  /// Its own part of the checkpoint with that number; nullopt: it has told of none.
  std::optional<CheckpointPart> part_of(const NodeId& node, int number) const;
  /// How many bytes of other nodes' files fit there.
  std::int64_t room_of(const NodeId& node) const;

  /// The newest one after `older` that has none of these numbers; nullopt: there is none.
  std::optional<WholeCheckpoint> newest_whole(int older, const std::set<int>& without) const;
  /// What the memory of a node takes in that is to have all of it.
  std::int64_t bytes_lacking(const WholeCheckpoint& whole, const NodeId& node) const;
  /// Where others get all of its parts, some nodes for each part; none: nobody gives one of them.
  std::vector<PartSource> sources_of(const WholeCheckpoint& whole) const;
  /// Where others get that part; nullopt: the node gives nothing.
  std::optional<PartSource> source_of(const CheckpointPart& part, const NodeId& node) const;

 private:
  struct Told {
    HeldCheckpoints held;
    bool is_known = false;
  };
  WholeCheckpoint holders_of(const CheckpointPart& wanted) const;

  const Roster& nodes_;
  std::map<NodeId, Told> told_;
};

}  // namespace ddprun
