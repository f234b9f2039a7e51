// The parts of a checkpoint that several nodes have saved, and how one folder is made of them.
// Pure.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "agent/checkpoints/snapshot.hpp"
#include "base/result.hpp"

namespace ddprun {

/// One file of the whole, and where its bytes were staged.
struct MergedFile {
  KeptFile file;
  int part = 0;
  std::size_t place = 0;  // in that part's list
};

struct Merged {
  Snapshot snapshot;
  std::vector<MergedFile> files;  // by path, as in the snapshot
};

/// The whole of which these are the parts, from part 0 on. A file that several have is that of the
/// first node that has saved it itself; else they have all got the same one when the round began.
Merged merge_parts(const std::vector<Snapshot>& parts);

/// What a program has removed since: folders and files, without those in such folders.
std::vector<std::string> removed_since(const Snapshot& before, const Snapshot& now);

/// Whether a file of the snapshot of that number is at or below a path that others have removed,
/// and was not saved again since the snapshot before.
bool is_removed(const KeptFile& file, int number, const std::set<std::string>& removed);

/// Files of `whole` that `own` has in memory with the same bytes are as they are there.
void take_own(Snapshot& whole, const Snapshot& own);

/// What a node puts back of a checkpoint that is on disk: files that it has in memory itself, as
/// `own` has them, and all others as they are there.
Snapshot put_together(const Snapshot& there, const Snapshot& own);

}  // namespace ddprun
