// Checkpointer: the state of a training, on disk, so that a restart goes on where the last one was.
//
// One file a checkpoint, `checkpoint-000000000042.safetensors`: parameters and buffers under the
// names of Python's state_dict(), the optimizer's state under "optimizer/", progress and whatever
// the program adds as the file's metadata. A file with that name is complete: see AtomicFile.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "worker_sdk/process_group.hpp"

namespace ddprun::sdk {

/// Where a training stands. `step` orders checkpoints: it must grow.
struct Progress {
  std::int64_t step = 0;
  std::map<std::string, std::string> metadata;  // the program's own: epoch, arguments...
};

class Checkpointer {
 public:
  /// Keeps the newest `keep` checkpoints in `folder`, which all ranks see and which is made if it
  /// is not there. Errors: std::invalid_argument for `keep` < 1, std::filesystem::filesystem_error.
  Checkpointer(std::filesystem::path folder, const ProcessGroup& group, int keep = 3);

  /// Rank 0 writes, the others do nothing; when it returns there, the checkpoint is durable. Called
  /// on all ranks. Errors on rank 0: std::runtime_error when it cannot be written (a full disk);
  /// the older ones are untouched then.
  void save(const torch::nn::Module& module, const torch::optim::Optimizer& optimizer,
            const Progress& progress);

  /// All ranks load the newest complete checkpoint, which rank 0 chooses: a damaged one is passed
  /// over with a warning. nullopt when there is none. Called on all ranks. Errors:
  /// std::runtime_error when names or shapes do not fit `module` and `optimizer`.
  std::optional<Progress> load_latest(torch::nn::Module& module,
                                      torch::optim::Optimizer& optimizer);

  std::filesystem::path path_of(std::int64_t step) const;

 private:
  std::vector<std::int64_t> steps() const;
  std::int64_t newest_complete() const;
  void remove_old() const;
  void remove_unfinished() const;

  std::filesystem::path folder_;
  const ProcessGroup& group_;
  int keep_;
};

}  // namespace ddprun::sdk
