// What tests of JobCheckpoints know of a node's memory and of the disk.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "rendezvous/messages/checkpoint_messages.hpp"
#include "rendezvous/messages/membership_messages.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {

/// What a node's folder has: of which round it is, and how often the node has saved in it.
struct Content {
  int round = 0;
  int version = 0;
  bool is_half = false;
  bool operator==(const Content&) const = default;
};

/// A part, and what the node had in its folder when it was kept.
struct KeptPart {
  CheckpointPart part;
  Content content;
  bool counts = false;
};

/// An agent of which the test sees all that it keeps.
struct ModelNode {
  bool is_there = false;
  int incarnation = 0;
  bool runs = false;
  int round = 0;
  int rank = 0;
  int nodes = 0;
  Content content;
  Content counted;  // as the last checkpoint that counts has it
  bool saves = false;
  bool owes_word = false;
  bool ended_well = false;
  std::vector<KeptPart> kept;
  std::vector<KeptPart> copies;  // other nodes' parts
  int written = 0;
  std::int64_t room = 0;                // that it told last
  std::vector<CheckpointOrder> orders;  // not obeyed yet
  /// All parts that it has held since its memory was lost: what is ordered may come too late.
  std::set<std::array<int, 3>> had;

  void note_had(const CheckpointPart& part) { had.insert({part.number, part.part, part.parts}); }
  /// What was to be kept of them is kept no more.
  void end_workers() {
    runs = saves = false;
    std::erase_if(orders, [](const CheckpointOrder& order) {
      return order.what == CheckpointOrder::What::kKeep;
    });
  }
  void lose_memory() {
    kept.clear();
    copies.clear();
    had.clear();
  }
};

/// The number of the newest checkpoint of which nodes that are there have all parts; 0: there is
/// none.
inline int newest_whole(const std::map<NodeId, ModelNode>& nodes) {
  std::vector<CheckpointPart> held;
  for (const auto& [id, node] : nodes)
    for (const auto* const parts : {&node.kept, &node.copies})
      for (const KeptPart& part : *parts)
        if (node.is_there && part.counts) held.push_back(part.part);
  int newest = 0;
  for (const CheckpointPart& wanted : held) {
    std::set<int> parts;
    for (const CheckpointPart& part : held)
      if (is_of_one(part, wanted)) parts.insert(part.part);
    if (static_cast<int>(parts.size()) == wanted.parts) newest = std::max(newest, wanted.number);
  }
  return newest;
}

/// The folder on disk.
struct ModelDisk {
  int number = 0;
  std::map<int, Content> parts;    // by part, of the checkpoint there
  std::map<int, KeptPart> staged;  // beside it

  /// Returns whether all parts were there.
  bool move(int wanted, int count) {
    if (static_cast<int>(staged.size()) < count) return false;
    for (int part = 0; part < count; ++part) {
      const auto at = staged.find(part);
      if (at == staged.end() || at->second.part.number != wanted || at->second.part.parts != count)
        return false;
    }
    take_parts(wanted, count);
    return true;
  }
  /// The heart of it: one number, nobody's half, and never an older one.
  void take_parts(int wanted, int count) {
    REQUIRE(wanted > number);
    parts.clear();
    for (int part = 0; part < count; ++part) {
      REQUIRE_FALSE(staged[part].content.is_half);
      REQUIRE(staged[part].counts);
      REQUIRE(staged[part].content.round == staged[0].content.round);
      parts[part] = staged[part].content;
    }
    number = wanted;
    staged.clear();
  }
};

}  // namespace ddprun
