// What tests of JobCheckpoints know of a node's memory and of the disk.
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "rendezvous/messages/checkpoint_messages.hpp"
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
  std::vector<CheckpointOrder> orders;  // not obeyed yet
};

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
