// What has to be done so that a folder is as a snapshot has it. Pure.
#pragma once

#include <string>
#include <vector>

#include "agent/checkpoints/snapshot.hpp"

namespace ddprun {

/// The steps, in this order. Logs stay as they are, and so do the folders that they are in, unless
/// the snapshot has a file in the place of such a folder.
struct PutBack {
  std::vector<std::string> removed;     // files of a folder stand before the folder
  std::vector<const KeptFile*> made;    // folders that are not there, from above
  std::vector<const KeptFile*> placed;  // files and links that are not there, or have changed
  std::vector<const KeptFile*> stay;    // files that look as they were
};

/// `snapshot` must outlive what is returned.
PutBack plan_put_back(const FolderState& now, const Snapshot& snapshot);

}  // namespace ddprun
