// Batches: which samples each worker gets in each step, whatever the number of workers is.
//
// The samples of all epochs, one epoch behind the other, are one long stream. A step takes the next
// ones of it, equally many for each worker, and workers take them in turns. So a step may begin in
// one epoch and end in the next, and every sample comes exactly once in each epoch: none is
// repeated to make the workers equal, and none is left out. How many samples of the stream all
// workers have used is all that has to be known to go on, with any number of workers.
//
// It deals as ddprun.Batches of the module for Python does, and shuffles an epoch as
// torch.utils.data.DistributedSampler.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace ddprun::sdk {

/// All workers have the same ones. One of local_batch and global_batch is set.
struct BatchesOptions {
  /// How many samples each worker gets in a step. The step of the whole job grows and shrinks with
  /// the number of workers, so the learning rate may have to follow it.
  std::int64_t local_batch = 0;
  /// How many samples all workers together get in a step. Each gets equally many, so that the mean
  /// of their gradients is that of all samples; what does not divide stays for the next step, for
  /// example 4 of 256 with 3 workers.
  std::int64_t global_batch = 0;
  /// The greatest number of samples that a worker takes at a time. A step then has several parts,
  /// whose gradients are added up. 0: a step has one part.
  std::int64_t micro_batch = 0;
  std::uint64_t seed = 0;  // decides, with the epoch, how samples are shuffled
  bool shuffle = true;     // else the samples come in the order of their indices
};

/// Used by one thread.
class Batches {
 public:
  /// Deals out for one worker at first. Errors: std::invalid_argument for numbers that make no
  /// batches.
  Batches(std::int64_t size, const BatchesOptions& options);

  /// Deals out for worker `rank` of `world_size`, behind the last counted step. Errors:
  /// std::invalid_argument where a worker would get no sample.
  void deal(int rank, int world_size);

  /// How many batches a worker gets in one step, and how many samples each of them has.
  std::int64_t parts() const { return parts_; }
  std::int64_t samples_in_part() const { return samples_; }
  /// How many samples all workers together use in one step.
  std::int64_t samples_in_step() const { return parts_ * samples_ * world_size_; }

  /// How many epochs all workers together have used up.
  std::int64_t epoch() const { return used_ / size_; }
  /// Whether the last counted step has used up an epoch.
  bool epoch_ended() const { return used_before_ / size_ < epoch(); }
  /// How many samples of the current epoch they have not used.
  std::int64_t left_in_epoch() const { return size_ - used_ % size_; }

  /// Returns the indices of this worker's batch `number`, from 0, behind the last counted step.
  std::vector<std::int64_t> part(std::int64_t number);

  /// All workers have used their samples of one step.
  void count_step() {
    used_before_ = used_;
    used_ += samples_in_step();
  }

  /// The place in the data, behind the last counted step, as JSON: {"epoch", "consumed", "size"}.
  std::string save_state() const;
  /// Goes on there, with any number of workers. Errors: std::invalid_argument for a text that is no
  /// place in this data set.
  void restore_state(const std::string& state);

 private:
  const std::vector<std::int64_t>& order_of(std::int64_t epoch);

  std::int64_t size_;
  BatchesOptions options_;
  int rank_ = 0;
  int world_size_ = 1;
  std::int64_t parts_ = 1;
  std::int64_t samples_ = 1;      // a worker's, in one part
  std::int64_t used_ = 0;         // samples of the stream that counted steps have used
  std::int64_t used_before_ = 0;  // the same before the last counted step
  /// The orders of the epochs that are dealt out now: at most two.
  std::map<std::int64_t, std::vector<std::int64_t>> orders_;
};

}  // namespace ddprun::sdk
