// DistributedSampler: which samples of a data set this worker sees in an epoch.
//
// Gives the same indices as torch.utils.data.distributed.DistributedSampler for the same arguments
// (https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.distributed.DistributedSampler).
// Beyond that it can go on in the middle of an epoch, also with another number of workers: what is
// left of the epoch's order is divided again.
//
// Every sample comes exactly once an epoch, as far as the numbers divide: all ranks get equally
// many, so at the end of an epoch up to world size - 1 samples come twice (the first ones of the
// epoch's order), or with drop_last are left out. An interruption changes nothing about that: only
// the world size that ends the epoch counts.
#pragma once

#include <cstdint>
#include <ddprun/sampler_state.hpp>
#include <vector>

namespace ddprun::sdk {

/// All ranks have the same ones.
struct SamplerOptions {
  bool shuffle = true;     // else the samples come in the order of their indices
  std::uint64_t seed = 0;  // decides, with the epoch, how they are shuffled
  bool drop_last = false;  // makes ranks equal by dropping the tail, not by repeating samples
};

/// Deals the samples out in turns: rank r of a world of n gets those at the places r, r + n, r + 2n
/// and so on of the epoch's order. Used by one thread.
class DistributedSampler {
 public:
  /// Errors: std::invalid_argument for a size that is not positive, or a rank outside the world.
  DistributedSampler(std::int64_t data_set_size, int world_size, int rank,
                     const SamplerOptions& options = {});

  /// Begins an epoch; call it before each of them. With shuffle, every epoch has another order. The
  /// epoch that resume() got goes on where it stood; every other one starts at its beginning.
  void set_epoch(std::int64_t epoch);

  /// The indices of this rank's samples, from 0 to the data set's size - 1, in the order of this
  /// epoch, or of what is left of it. There are size() of them.
  std::vector<std::int64_t> indices() const;

  /// How many samples each rank gets: as many as every other. After resume(), in the rest of the
  /// epoch.
  std::int64_t size() const;

  /// Returns what to save when this rank, and so every rank, has used up the first `count` of
  /// indices(). Count what training has seen, not what a loader has fetched ahead. Errors:
  /// std::invalid_argument for a count outside 0 to size().
  SamplerState state_after(std::int64_t count) const;

  /// Goes on where a sampler over the same data with the same options stood, whatever the size of
  /// its world. Errors: std::invalid_argument for a state that is none of this data set.
  void resume(const SamplerState& state);

 private:
  std::vector<std::int64_t> whole_epoch() const;

  std::int64_t data_set_size_;
  int world_size_;
  int rank_;
  SamplerOptions options_;
  SamplerState begin_;  // this epoch, and how much of it was used up before
};

}  // namespace ddprun::sdk
