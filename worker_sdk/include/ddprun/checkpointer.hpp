// Checkpointer: the state of a training, on disk, so that a restart goes on where the last one was.
//
// A checkpoint is a folder, `checkpoint-000000000042`:
//
//     model.safetensors      parameters and buffers under the names of Python's state_dict()
//     optimizer.safetensors  the optimizer's state; see optimizer_state.hpp. Its metadata hold
//                            the parts of keep() under "state/NAME"
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
#include <ddprun/stateful.hpp>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace ddprun::sdk {

class CheckpointWriter;

/// Where a training stands; saved with a checkpoint and returned when it is loaded.
struct Progress {
  std::int64_t step = 0;                     // 0 or more; must grow, as it orders checkpoints
  std::int64_t epoch = 0;                    // the program's own count
  std::optional<SamplerState> sampler = {};  // DistributedSampler::state_after()
  std::map<std::string, std::string> metadata = {};  // the program's own notes, in UTF-8
};

/// How checkpoints are saved, and which of them are kept.
struct CheckpointerOptions {
  int keep = 3;                 // how many of the newest are kept, at least 1
  std::int64_t keep_every = 0;  // those whose step is a multiple of it stay for good; 0: none do
  /// True: save() returns when the state is copied in memory, and a thread writes it, which costs
  /// rank 0 as much memory as the state has. False: save() returns when it is on disk.
  bool asynchronous = true;
  Durability durability = Durability::kFsync;
};

/// Saves and loads checkpoints in one folder. Every rank has one, and all of them call save() and
/// load_latest() in the same order.
class Checkpointer {
 public:
  /// `folder` is one that all ranks see; it is made if it is not there. Rank 0 claims it for this
  /// attempt, and clears away what earlier ones have left half-written. `group` must outlive this.
  /// Errors: std::invalid_argument for options that make no sense;
  /// std::filesystem::filesystem_error; std::runtime_error when the folder cannot be written;
  /// FencedOffError.
  Checkpointer(std::filesystem::path folder, const ProcessGroup& group,
               const CheckpointerOptions& options = {});

  /// Waits for what is being written, and prints a warning if that fails.
  ~Checkpointer();
  Checkpointer(const Checkpointer&) = delete;
  Checkpointer& operator=(const Checkpointer&) = delete;

  /// From now on checkpoints hold rank 0's state of `part` under `name`, and load_latest() gives it
  /// to all ranks: an LRScheduler, a GradScaler, or what the program has. `part` must outlive this.
  /// Errors: std::invalid_argument for a name that is taken.
  void keep(const std::string& name, Stateful& part);

  /// Does so with the states of all ranks: load_latest() gives each rank its own. It is for what
  /// differs from rank to rank, such as a ShardLoader, and it needs as many ranks as had saved.
  /// Errors: std::invalid_argument for a name that is taken.
  void keep_of_each_rank(const std::string& name, Stateful& part);

  /// Saves the state of rank 0's module and optimizer, and of all ranks' generators of random
  /// numbers. If the checkpoint before is still being written, it waits for that. Errors:
  /// std::invalid_argument for an optimizer that optimizer_state() does not know, or a step below
  /// 0; on rank 0 std::runtime_error when the checkpoint cannot be written (a full disk), and
  /// FencedOffError, which an asynchronous save throws from the next save() or wait(). Older
  /// checkpoints stay as they were.
  void save(const torch::nn::Module& module, const torch::optim::Optimizer& optimizer,
            const Progress& progress);

  /// Does the same with tensors that the program has collected by itself. Only rank 0's count.
  void save(const std::map<std::string, torch::Tensor>& model, const SafeTensors& optimizer,
            const Progress& progress);

  /// Returns when the last saved checkpoint is on disk; on ranks other than 0, at once. Errors: as
  /// save().
  void wait();

  /// Loads, on all ranks, the newest complete checkpoint, which rank 0 chooses: the module, the
  /// optimizer with its learning rate and other options, the parts of keep(), and the generators of
  /// random numbers. Rank
  /// 0 passes over damaged and incomplete ones with a warning. Returns where that training stood;
  /// nullopt when there is no checkpoint. Errors: std::runtime_error when names or shapes do not
  /// fit `module`, it lacks a part of keep(), or a rank does not see the folder;
  /// std::invalid_argument when it does not fit `optimizer` or a part, or has another number of
  /// ranks for parts of keep_of_each_rank().
  std::optional<Progress> load_latest(torch::nn::Module& module,
                                      torch::optim::Optimizer& optimizer);

  /// Returns the folder of a step's checkpoint, whether it is there or not.
  std::filesystem::path path_of(std::int64_t step) const;

 private:
  void load_parts(const std::map<std::string, std::string>& saved);
  Progress load(std::int64_t step, torch::nn::Module& module, torch::optim::Optimizer& optimizer);

  std::filesystem::path folder_;
  const ProcessGroup& group_;
  std::map<std::string, Stateful*> parts_;
  std::map<std::string, Stateful*> parts_of_ranks_;
  std::unique_ptr<CheckpointWriter> writer_;  // rank 0 has one
};

}  // namespace ddprun::sdk
