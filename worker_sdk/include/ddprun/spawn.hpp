// spawn(): runs the workers of one machine out of one program, without a launcher. Needs no
// LibTorch.
//
// It is torch.multiprocessing.spawn
// (https://docs.pytorch.org/docs/stable/multiprocessing.html#spawning-subprocesses), with the
// environment of a launcher for every worker, so that init_process_group() finds the others.
#pragma once

#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>

namespace ddprun::sdk {

/// Returns how many NVIDIA GPUs this process sees, for `spawn(train, visible_gpus())`. It does not
/// ask CUDA, as torch::cuda::device_count() does: a process that has initialised CUDA must not
/// fork. It counts device files, and heeds CUDA_VISIBLE_DEVICES.
int visible_gpus();

/// How spawn() stops workers.
struct SpawnOptions {
  /// How long the other workers have to end after SIGTERM, when one has failed; then comes SIGKILL.
  std::chrono::milliseconds shutdown_timeout{std::chrono::seconds{30}};
};

/// A worker has failed. what() says the rank of the first one, and what it threw or how it ended.
class SpawnError : public std::runtime_error {
 public:
  SpawnError(int rank, const std::string& message)
      : std::runtime_error{"rank " + std::to_string(rank) + " " + message}, rank_{rank} {}
  /// The rank of the first worker that failed.
  int rank() const { return rank_; }

 private:
  int rank_;
};

/// Runs function(rank) in `nprocs` processes of their own, ranks 0 to nprocs - 1, and returns when
/// all have returned from it. They are forks, which begin with all that this process has prepared;
/// they have RANK, LOCAL_RANK, WORLD_SIZE, LOCAL_WORLD_SIZE, MASTER_ADDR=127.0.0.1 and a free
/// MASTER_PORT. When one throws, exits or is killed, the others are stopped. When this process
/// dies, they are killed.
///
/// Call it before anything that starts threads (most tensor operations do), for a fork has none of
/// them. Errors: std::logic_error when there are threads already, or CUDA is initialised;
/// std::invalid_argument for `nprocs` < 1; std::system_error when no process can be made;
/// SpawnError.
void spawn(const std::function<void(int rank)>& function, int nprocs,
           const SpawnOptions& options = {});

}  // namespace ddprun::sdk
