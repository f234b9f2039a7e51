// DistributedSampler: which samples of a data set this worker sees in an epoch.
//
// Gives the same indices as torch.utils.data.distributed.DistributedSampler for the same arguments
// (https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.distributed.DistributedSampler).
#pragma once

#include <cstdint>
#include <vector>

namespace ddprun::sdk {

struct SamplerOptions {
  bool shuffle = true;
  std::uint64_t seed = 0;  // the same on all ranks
  bool drop_last = false;  // drop the tail, instead of repeating samples, to make ranks equal
};

class DistributedSampler {
 public:
  /// Errors: std::invalid_argument for a size that is not positive, or a rank outside the world.
  DistributedSampler(std::int64_t data_set_size, int world_size, int rank,
                     const SamplerOptions& options = {});

  /// Call it before every epoch: it changes the order. Without shuffle it has no effect.
  void set_epoch(std::int64_t epoch) { epoch_ = epoch; }

  /// This rank's samples in the order of this epoch; size() of them.
  std::vector<std::int64_t> indices() const;

  /// The same on all ranks.
  std::int64_t size() const { return samples_per_rank_; }

 private:
  std::vector<std::int64_t> whole_epoch() const;

  std::int64_t data_set_size_;
  int world_size_;
  int rank_;
  SamplerOptions options_;
  std::int64_t epoch_ = 0;
  std::int64_t samples_per_rank_;
};

}  // namespace ddprun::sdk
