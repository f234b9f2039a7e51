// CheckpointPublisher: writes checkpoints so that each is there completely or not at all, and takes
// old ones away. Needs no LibTorch.
#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "worker_sdk/checkpoint_files/checkpoint_fence.hpp"
#include "worker_sdk/checkpoint_files/checkpoint_folder.hpp"
#include "worker_sdk/checkpoint_files/hashed_file.hpp"

namespace ddprun::sdk {

/// A file of a checkpoint that is to be written.
struct FileToWrite {
  std::string name;  // without a path
  Pieces pieces;
};

/// How checkpoints are written.
struct PublisherOptions {
  Retention retention;
  Durability durability = Durability::kFsync;
  StageHook hook;
};

/// Writes into one folder, as the owner of a claim to it.
class CheckpointPublisher {
 public:
  /// Changes nothing yet. Errors: std::invalid_argument for a retention that makes no sense.
  CheckpointPublisher(std::filesystem::path folder, CheckpointFence fence,
                      PublisherOptions options);

  /// Writes a folder under a temporary name, all files at once, makes it durable, gives it its
  /// name, and then removes what is outdated. It fills in `manifest.files`. A checkpoint of the
  /// same step is replaced at one stroke where the file system can exchange two names
  /// (renameat2(2)); where it cannot, as NFS, there is a moment in which neither is there. Errors:
  /// std::invalid_argument for a step below 0; std::runtime_error, naming file and reason;
  /// FencedOffError. Nothing that was there is lost then.
  void publish(CheckpointManifest manifest, const std::vector<FileToWrite>& files);

  /// Takes away what killed workers have left half-written. Errors: FencedOffError,
  /// std::filesystem::filesystem_error.
  void remove_unfinished() const;

  /// Takes note that the checkpoint of `step` looks complete and is not: from now on it does not
  /// count among those to keep.
  void distrust(std::int64_t step) { damaged_.insert(step); }

 private:
  void write(const std::filesystem::path& unfinished, CheckpointManifest& manifest,
             const std::vector<FileToWrite>& files) const;
  void give_name(const std::filesystem::path& unfinished, const std::filesystem::path& final_path);
  void remove_outdated() const;
  void tell(const std::string& stage) const;

  std::filesystem::path folder_;
  CheckpointFence fence_;
  PublisherOptions options_;
  std::set<std::int64_t> damaged_;
  std::unique_ptr<std::mutex> hook_mutex_ = std::make_unique<std::mutex>();
};

}  // namespace ddprun::sdk
