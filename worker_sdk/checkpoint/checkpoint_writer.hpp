// CheckpointWriter: rank 0's half of Checkpointer, which works on the disk.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <filesystem>
#include <future>
#include <optional>

#include "ddprun/checkpointer.hpp"
#include "ddprun/worker_env.hpp"
#include "worker_sdk/checkpoint/checkpoint_snapshot.hpp"
#include "worker_sdk/checkpoint/staging_buffer.hpp"
#include "worker_sdk/checkpoint_files/checkpoint_publisher.hpp"

namespace ddprun::sdk {

/// Used by one thread; writes in another one if the options say so.
class CheckpointWriter {
 public:
  /// Claims `folder`, which must be there, for the attempt that `env` tells, and removes what
  /// earlier attempts have left half-written. Errors: those of Checkpointer's constructor.
  CheckpointWriter(const std::filesystem::path& folder, const WorkerEnv& env,
                   const CheckpointerOptions& options);

  /// Publishes a checkpoint of `snapshot`, after the one before. Asynchronously, it returns when
  /// the snapshot is copied in memory. Errors: those of CheckpointPublisher::publish(); of a
  /// checkpoint that is written in the background, at the next call of wait().
  void write(CheckpointManifest manifest, CheckpointSnapshot snapshot);

  /// Gets the memory ready that asynchronous writes copy `bytes` bytes into, so that the first save
  /// is as fast as the others. Does nothing if writes are synchronous. `pinned`: see StagingBuffer.
  void prepare(std::size_t bytes, bool pinned);

  /// Returns when nothing is being written. Errors: those of what was written in the background.
  void wait();

  /// Returns the step of the newest checkpoint whose files are all as they were written; nullopt if
  /// there is none. It warns on stderr of each one that it passes over, which from then on does not
  /// count among those to keep.
  std::optional<std::int64_t> newest_complete();

 private:
  std::filesystem::path folder_;
  bool asynchronous_;
  CheckpointPublisher publisher_;
  StagingBuffer staging_;
  std::future<void> pending_;  // last: its thread uses the members above
};

}  // namespace ddprun::sdk
