// CheckpointPublisher: writes checkpoints so that each is there completely or not at all, and takes
// old ones away. No LibTorch.
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

struct FileToWrite {
  std::string name;
  Pieces pieces;
};

struct PublisherOptions {
  Retention retention;
  Durability durability = Durability::kFsync;
  StageHook hook;
};

class CheckpointPublisher {
 public:
  /// Errors: std::invalid_argument for a retention that makes no sense.
  CheckpointPublisher(std::filesystem::path folder, CheckpointFence fence,
                      PublisherOptions options);

  /// Writes a folder under a temporary name, all files at once, makes it durable, gives it its
  /// name, and removes what is outdated then. `manifest.files` is filled in. A checkpoint of the
  /// same step is replaced: at one stroke where the file system can exchange two names
  /// (renameat2(2); NFS cannot), else with a moment in which neither is there. Errors:
  /// std::runtime_error, naming file and reason; FencedOffError. Either way nothing that was there
  /// is lost.
  void publish(CheckpointManifest manifest, const std::vector<FileToWrite>& files);

  /// Takes away what killed workers have left half-written. Errors: FencedOffError,
  /// std::filesystem::filesystem_error.
  void remove_unfinished() const;

  /// A checkpoint that looks complete and is not: it does not count among the newest ones.
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
  std::unique_ptr<std::mutex> hook_mutex_ = std::make_unique<std::mutex>();  // moves
};

}  // namespace ddprun::sdk
