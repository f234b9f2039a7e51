// Checkpointer: the state of a training, on disk, so that a restart goes on where the last one was.
//
// A checkpoint is a folder, `checkpoint-000000000042`:
//
//     model.safetensors      parameters and buffers under the names of Python's state_dict()
//     optimizer.safetensors  the optimizer's state; see optimizer_state.hpp
//     rng.safetensors        the states of all ranks' random number generators
//     manifest.json          step, epoch, world size, position in the epoch, and a SHA-256 of
//                            every file; see checkpoint_manifest.hpp
//
// It is there completely or not at all, whenever a worker is killed or the machine stops, and only
// the newest attempt of a job can add one (checkpoint_fence.hpp). What PyTorch has for the purpose:
// https://docs.pytorch.org/tutorials/recipes/distributed_async_checkpoint_recipe.html
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <ddprun/checkpoint_writing.hpp>
#include <ddprun/process_group.hpp>
#include <ddprun/safetensors.hpp>
#include <ddprun/sampler_state.hpp>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace ddprun::sdk {

class CheckpointWriter;

/// Where a training stands.
struct Progress {
  std::int64_t step = 0;                        // 0 or more; orders checkpoints, so it must grow
  std::int64_t epoch = 0;                       // the program's own count
  std::optional<SamplerState> sampler;          // DistributedSampler::state_after()
  std::map<std::string, std::string> metadata;  // the program's own, UTF-8: arguments...
};

struct CheckpointerOptions {
  int keep = 3;                 // the newest so many, at least 1
  std::int64_t keep_every = 0;  // and all whose step is a multiple of it, for good; 0: none
  /// save() returns when the state is copied in memory, and a thread writes it. It costs rank 0 as
  /// much memory as the state has.
  bool asynchronous = true;
  Durability durability = Durability::kFsync;
};

class Checkpointer {
 public:
  /// In `folder`, which all ranks see and which is made if it is not there. Rank 0 claims it for
  /// this attempt. `group` must outlive this. Errors: std::invalid_argument for options that make
  /// no sense, std::filesystem::filesystem_error, FencedOffError.
  Checkpointer(std::filesystem::path folder, const ProcessGroup& group,
               const CheckpointerOptions& options = {});

  /// Waits for what is being written; an error of that is printed.
  ~Checkpointer();
  Checkpointer(const Checkpointer&) = delete;
  Checkpointer& operator=(const Checkpointer&) = delete;

  /// Called on all ranks; rank 0 saves. If the checkpoint before is still being written, it waits
  /// for it. The optimizer is one that optimizer_state() knows. Errors on rank 0:
  /// std::runtime_error when a checkpoint cannot be written (a full disk), FencedOffError;
  /// asynchronously, at the next call of save() or wait(). What was there stays.
  void save(const torch::nn::Module& module, const torch::optim::Optimizer& optimizer,
            const Progress& progress);

  /// The same for an optimizer whose state the program collects by itself.
  void save(const std::map<std::string, torch::Tensor>& model, const SafeTensors& optimizer,
            const Progress& progress);

  /// Returns when the last saved checkpoint is on disk. Errors as in save().
  void wait();

  /// All ranks load the newest complete checkpoint, which rank 0 chooses, with the optimizer's
  /// learning rate and other options and the generators of random numbers; a damaged or incomplete
  /// one is passed over with a warning. nullopt when there is none. Called on all ranks. Errors:
  /// std::runtime_error when names or shapes do not fit `module` and `optimizer`.
  std::optional<Progress> load_latest(torch::nn::Module& module,
                                      torch::optim::Optimizer& optimizer);

  /// The folder of a step's checkpoint, whether it is there or not.
  std::filesystem::path path_of(std::int64_t step) const;

 private:
  Progress load(std::int64_t step, torch::nn::Module& module, torch::optim::Optimizer& optimizer);

  std::filesystem::path folder_;
  const ProcessGroup& group_;
  std::unique_ptr<CheckpointWriter> writer_;  // rank 0 has one
};

}  // namespace ddprun::sdk
