// The messages by which the nodes of a job keep the checkpoints of their program together:
// docs/internals/kept-checkpoints.md. A node's part is what its workers have saved there. A
// checkpoint is all parts of one number, taken while no node saved; then it counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ddprun {

/// A node has at most this many checkpoints in memory that count, and copies of as many parts of
/// another node.
inline constexpr std::size_t kPartsHeldMax = 2;
/// A round may name that many places to get parts from; a larger one gets them from the disk.
inline constexpr std::size_t kPartSourcesMax = 256;
inline constexpr std::size_t kPartEndpointBytesMax = 64;  // an address and a port
/// The bytes of all parts of a round together fit an int64.
inline constexpr std::int64_t kCheckpointBytesMax = std::int64_t{1} << 53;
/// A node gives its parts to those alone that know this.
inline constexpr std::size_t kPartTicketBytesMax = 64;
/// At most this many files and folders are named that a program has removed.
inline constexpr std::size_t kRemovedPathsMax = 64;
/// The longest path within the program's folder that a message can name.
inline constexpr std::size_t kCheckpointPathBytesMax = 512;

/// In place of a checkpoint's number: no node could see what is on disk.
inline constexpr int kUnknownCheckpoint = -1;

struct CheckpointPart {
  int number = 0;                  // the checkpoint's
  int part = 0;                    // which part of it, from 0
  int parts = 1;                   // how many it has
  std::int64_t taken_unix_ms = 0;  // when the last of its parts was kept. By this checkpoints of
                                   // one number differ: a coordinator that knows of no part, or
                                   // another job with the same folder, gives a number again
  std::int64_t bytes = 0;          // the files that its node has saved since the round began
  std::int64_t older_bytes = 0;    // the other files, which all nodes had then
  bool operator==(const CheckpointPart&) const = default;
};

/// Whether they are parts, or copies of a part, of one checkpoint.
constexpr bool is_of_one(const CheckpointPart& part, const CheckpointPart& other) {
  return part.number == other.number && part.parts == other.parts &&
         part.taken_unix_ms == other.taken_unix_ms;
}

/// A part, and which node gives it.
struct PartSource {
  CheckpointPart part;
  std::string endpoint;  // HOST:PORT; no HOST: where the coordinator is
  std::string ticket;    // has to be shown there
  bool operator==(const PartSource&) const = default;
};

/// The checkpoint that a round continues from.
struct RoundCheckpoint {
  int number = 0;                        // 0: there is none; kUnknownCheckpoint
  std::vector<PartSource> sources = {};  // its parts in memory; none: it is on disk
  bool older = false;  // not the newest, with which rounds failed alike soon after it was loaded
  bool operator==(const RoundCheckpoint&) const = default;
};

// --- agent to coordinator ---

/// What a node has in memory. It comes behind Joined, and before WorkersStopped.
struct HeldCheckpoints {
  std::vector<CheckpointPart> parts;        // its parts of checkpoints that count, the oldest first
  std::vector<CheckpointPart> copies = {};  // parts of another node
  int written = 0;                          // the newest number that it knows to be on disk
  bool ended_well = false;  // its workers of the last round have all ended with code 0
  std::int64_t room = 0;    // that many bytes of other nodes' files fit into its memory; -1: its
                            // own next save does not
  int port = 0;             // it gives what it holds there; 0: it does not
  std::string ticket = {};  // to those that show this
  bool operator==(const HeldCheckpoints&) const = default;
};

struct CheckpointSaid {
  enum class What {
    kSaved,   // a save has ended on this node
    kKept,    // the answer to kKeep
    kStaged,  // the answer to kStage
    kCopied,  // it has the copy that kCounts asked for
    kWritten  // the answer to kMove
  };
  What what = What::kSaved;
  int number = 0;                         // the order's; kWritten: the one that is on disk now
  int part = 0;                           // the order's, where it names one
  bool done = false;                      // kKept: false while the node's workers save
  std::int64_t bytes = 0;                 // kKept: those of its part
  std::int64_t older_bytes = 0;           // kKept: the same
  std::int64_t taken_unix_ms = 0;         // kKept: when that was
  bool changed = false;                   // kKept: they have saved something since the one before
  std::vector<std::string> removed = {};  // kKept: what they have removed since
  bool operator==(const CheckpointSaid&) const = default;
};

// --- coordinator to agent ---

struct CheckpointOrder {
  enum class What {
    kKeep,    // keep your part of that number
    kCounts,  // all nodes have kept it
    kStage,   // write that part to the disk, beside what is there
    kMove,    // all parts are there: put them in the place of what was; 0: see what is there
    kWritten  // it is on disk
  };
  What what = What::kKeep;
  int number = 0;
  int part = 0;                           // kStage
  int parts = 1;                          // kStage, kMove
  bool at_end = false;                    // kKeep: nobody saves any more, whatever names files have
  std::vector<std::string> removed = {};  // kCounts: on any node, so it is to go on all
  std::int64_t taken_unix_ms = 0;         // kCounts: as CheckpointPart has it
  std::vector<PartSource> copies = {};    // kCounts: get these, in case that their node is lost
  bool operator==(const CheckpointOrder&) const = default;
};

}  // namespace ddprun
