// CheckpointFence: who may change a folder of checkpoints. No LibTorch.
//
// A worker that was given up (its node was cut off, its process hung) may come back to life while
// the next attempt is at work, and must not publish over it. So every attempt claims the folder: it
// leaves a token of its own in the file `.fence`. Whoever changes the folder holds the lock
// `.fence.lock` (flock(2)) meanwhile and looks first whether the token is still its own. The idea
// is that of fencing tokens:
// https://martin.kleppmann.com/2016/02/08/how-to-do-distributed-locking.html
#pragma once

#include <chrono>
#include <filesystem>
#include <string>

#include "ddprun/checkpoint_writing.hpp"
#include "ddprun/worker_env.hpp"

namespace ddprun::sdk {

class CheckpointFence {
 public:
  /// Claims `folder` for this process. The newest claim is the one that counts, except over one of
  /// a later round (or attempt, without ddprun) of the same run that was made after this process
  /// had started: then this process is the straggler. Errors: FencedOffError;
  /// std::runtime_error when the folder cannot be written, or somebody holds its lock for longer
  /// than `patience`.
  static CheckpointFence claim(const std::filesystem::path& folder, const WorkerEnv& env,
                               std::chrono::milliseconds patience = std::chrono::seconds{60});

  /// The folder's lock, held by someone whose claim is still the newest.
  class Entered {
   public:
    Entered(Entered&& other) noexcept;
    Entered& operator=(Entered&&) = delete;
    ~Entered();

   private:
    friend class CheckpointFence;
    explicit Entered(int lock) : lock_{lock} {}
    int lock_;
  };

  /// This process's in this round: nobody else has the same.
  const std::string& token() const { return token_; }

  /// Errors: FencedOffError when a newer attempt has claimed the folder; std::runtime_error as
  /// above.
  Entered enter() const;

 private:
  CheckpointFence(std::filesystem::path folder, std::string token,
                  std::chrono::milliseconds patience);

  std::filesystem::path folder_;
  std::string token_;
  std::chrono::milliseconds patience_;
};

}  // namespace ddprun::sdk
