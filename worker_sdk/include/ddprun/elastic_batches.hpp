// ElasticBatches: what ElasticRun has to know of a loader whose samples are dealt out to as many
// workers as there are. Needs no LibTorch.
#pragma once

#include <cstdint>
#include <ddprun/stateful.hpp>

namespace ddprun::sdk {

/// ElasticLoader is one. Its text is the place in the data behind the last counted step, which all
/// workers have in common.
class ElasticBatches : public Stateful {
 public:
  /// Deals out for worker `rank` of `world_size`, behind the last counted step. Errors:
  /// std::invalid_argument where a worker would get no sample.
  virtual void deal(int rank, int world_size) = 0;

  /// All workers have used their samples of one step.
  virtual void count_step() = 0;

  /// How many batches a worker gets in one step.
  virtual std::int64_t parts() const = 0;

  /// How many samples this worker uses in one step.
  virtual std::int64_t samples_of_worker() const = 0;

  /// How many epochs all workers together have used up.
  virtual std::int64_t epoch() const = 0;
};

}  // namespace ddprun::sdk
