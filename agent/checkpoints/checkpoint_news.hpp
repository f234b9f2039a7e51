// What becomes of checkpoints, for people and for the log of events. Pure.
#pragma once

#include <cstdint>
#include <string>

namespace ddprun {

struct CheckpointNews {
  enum class What { kKept, kWritten, kPutBack };  // in memory, to disk, before workers start
  What what = What::kKept;
  std::string name;                  // as title_of() has it; "": none was kept yet
  int number = 0;                    // the snapshot's
  std::int64_t bytes = 0;            // that this one has and the one before it did not
  std::int64_t bytes_from_disk = 0;  // kPutBack: those that memory had no more
  std::string failing;  // kPutBack: a newer one, which failed alike each time that it was loaded
};

/// Where workers find it: "checkpoint-500, from memory", and why it is not `failing`; "": it is
/// the newest.
std::string origin_of(const std::string& name, std::int64_t bytes_from_disk,
                      const std::string& failing);

/// "checkpoint-500 (1.2 GiB) is in memory".
std::string sentence_of(const CheckpointNews& news);

}  // namespace ddprun
