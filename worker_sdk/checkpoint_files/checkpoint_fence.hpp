// CheckpointFence: decides who may change a folder of checkpoints. Needs no LibTorch.
//
// A worker that was given up (its node was cut off, its process hung) may come back to life while
// the next attempt is at work, and must not publish over it. So every attempt claims the folder: it
// leaves a token of its own in the file `.fence`. A process that changes the folder holds the lock
// `.fence.lock` (flock(2)) meanwhile, and first looks whether the token is still its own. These are
// fencing tokens: https://martin.kleppmann.com/2016/02/08/how-to-do-distributed-locking.html
#pragma once

#include <chrono>
#include <filesystem>
#include <string>

#include "ddprun/checkpoint_writing.hpp"
#include "ddprun/worker_env.hpp"

namespace ddprun::sdk {

/// A claim to a folder of checkpoints.
class CheckpointFence {
 public:
  /// Claims `folder` for this process. The newest claim counts, with one exception: if a later
  /// round of the same run (without ddprun, a later attempt) has claimed the folder since this
  /// process started, this process is the straggler. Errors: FencedOffError for a straggler;
  /// std::runtime_error when the folder cannot be written, or when somebody holds its lock for
  /// longer than `patience`.
  static CheckpointFence claim(const std::filesystem::path& folder, const WorkerEnv& env,
                               std::chrono::milliseconds patience = std::chrono::seconds{60});

  /// Holds the folder's lock while it lives. Its owner's claim is the newest one.
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

  /// The token of this process in this round, which no other has.
  const std::string& token() const { return token_; }

  /// Takes the folder's lock, under which the folder may be changed. Errors: FencedOffError when a
  /// newer attempt has claimed the folder, or the claim was removed; std::runtime_error as above.
  Entered enter() const;

 private:
  CheckpointFence(std::filesystem::path folder, std::string token,
                  std::chrono::milliseconds patience);

  std::filesystem::path folder_;
  std::string token_;
  std::chrono::milliseconds patience_;
};

}  // namespace ddprun::sdk
