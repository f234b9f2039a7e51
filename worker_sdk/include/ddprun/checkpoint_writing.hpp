// How checkpoints are written, and who may write them: the words that Checkpointer shares with the
// code that works on the files. Needs no LibTorch.
#pragma once

#include <stdexcept>

namespace ddprun::sdk {

/// What a finished checkpoint survives.
enum class Durability {
  kFsync,  // a power failure: fsync(2) of every file and folder before it gets its name, and after
  kNone,   // the end of the process, not of the machine
};

/// A newer attempt of the job has claimed the folder of checkpoints. This process is a straggler
/// (its node was cut off, or it hung) and must end without saving. what() names both attempts and
/// says what to do.
class FencedOffError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace ddprun::sdk
