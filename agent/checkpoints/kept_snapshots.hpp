// KeptSnapshots: which snapshots of the program's folder a node has in memory, its own and copies
// of other nodes' parts. Pure.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "agent/checkpoints/snapshot.hpp"
#include "rendezvous/messages/checkpoint_messages.hpp"

namespace ddprun {

class KeptSnapshots {
 public:
  using Unwanted = std::function<bool(const Snapshot&)>;

  KeptSnapshots() = default;
  /// What an earlier job has left, the oldest first.
  explicit KeptSnapshots(std::vector<Snapshot> found);

  /// The oldest first.
  const std::vector<Snapshot>& own() const { return own_; }
  /// Parts that this node has for others, and its own ones of checkpoints that it has as a whole.
  const std::vector<Snapshot>& copies() const { return copies_; }
  std::vector<Snapshot> all() const;

  /// The node's own of that number; nullptr: it is not kept.
  const Snapshot* find(int number) const;
  /// That part of a checkpoint, also a copy; nullptr: it is not kept.
  const Snapshot* find_part(int number, int part, int parts) const;
  /// The newest number of which all nodes have their part; 0: there is none.
  int counted() const;

  void add(Snapshot own) { own_.push_back(std::move(own)); }
  /// Takes the place of the part that the node has of it: that may still be on its way to disk.
  void add_whole(Snapshot whole);
  void add_copy(Snapshot copy);

  /// Takes those that are not wanted any more. Returns them.
  std::vector<Snapshot> take_if(const Unwanted& unwanted);
  std::vector<Snapshot> take_copies_if(const Unwanted& unwanted);

  /// As changed, in the place of the one of the same moment.
  void replace(const Snapshot& snapshot);
  /// All nodes have their part of the order's number, and others' workers have removed files.
  /// Returns those that have gone here, too.
  std::vector<KeptFile> let_count(const CheckpointOrder& order);

 private:
  std::vector<Snapshot> own_;
  std::vector<Snapshot> copies_;
};

/// Whether they are of one moment.
bool is_same(const Snapshot& one, const Snapshot& other);

/// What messages say of it.
CheckpointPart part_of(const Snapshot& snapshot);

}  // namespace ddprun
