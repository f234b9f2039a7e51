// Snapshots that are made of what other nodes have in memory. All functions block.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "agent/checkpoints/memory_tier.hpp"
#include "agent/checkpoints/pace.hpp"
#include "agent/checkpoints/part_sources.hpp"
#include "agent/checkpoints/snapshot.hpp"
#include "base/result.hpp"

namespace ddprun {

/// The snapshots that are in this node's memory.
struct SnapshotsHere {
  std::vector<Snapshot> all;
  Snapshot current;  // the folder as it was last
};

/// The nodes that are asked for parts. The connections are those of the thread that works, which
/// may have files of its own.
struct Givers {
  std::vector<PartSource> sources;
  std::shared_ptr<const TlsContext> tls;
  int node = 0;  // as PartSources has it
};

struct Gathered {
  /// Errors: kUnavailable, kTimeout, kInvalid, with a sentence; then nothing is kept of it.
  Result<Snapshot> snapshot;
  std::vector<std::string> complaints;  // as PartSources has them
};

/// Gathers the whole of which these are the parts: files and lists that are here are taken from
/// here.
Gathered gather_whole(const MemoryTier& tier, const Givers& givers, const SnapshotsHere& here,
                      Pace& pace);

/// What other nodes' workers have removed of a checkpoint.
struct Removed {
  int number = 0;
  std::vector<std::string> paths;
};

/// Gathers a copy of the one part of which these are the sources. It is an error, too, if more than
/// `room` bytes of it are not here.
Gathered gather_copy(const MemoryTier& tier, const Givers& givers, const SnapshotsHere& here,
                     const Removed& removed, std::int64_t room, Pace& pace);

}  // namespace ddprun
