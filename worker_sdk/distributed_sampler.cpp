#include "worker_sdk/distributed_sampler.hpp"

#include <ATen/CPUGeneratorImpl.h>
#include <torch/torch.h>

#include <numeric>
#include <stdexcept>
#include <string>

namespace ddprun::sdk {

namespace {

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace

DistributedSampler::DistributedSampler(std::int64_t data_set_size, int world_size, int rank,
                                       const SamplerOptions& options)
    : data_set_size_{data_set_size}, world_size_{world_size}, rank_{rank}, options_{options} {
  if (data_set_size < 1)
    throw std::invalid_argument{"DistributedSampler: a data set of " +
                                std::to_string(data_set_size) + " samples, expected one at least"};
  if (rank < 0 || rank >= world_size)
    throw std::invalid_argument{"DistributedSampler: rank " + std::to_string(rank) +
                                ", expected 0 to world size - 1 (" +
                                std::to_string(world_size - 1) + ")"};
  samples_per_rank_ =
      options.drop_last ? data_set_size / world_size : divide_up(data_set_size, world_size);
}

std::vector<std::int64_t> DistributedSampler::indices() const {
  const std::vector<std::int64_t> all = whole_epoch();
  std::vector<std::int64_t> mine;
  mine.reserve(samples_per_rank_);
  const std::int64_t used = samples_per_rank_ * world_size_;
  // Past the end it begins again, so that all ranks have equally many.
  for (std::int64_t i = rank_; i < used; i += world_size_) mine.push_back(all[i % data_set_size_]);
  return mine;
}

std::vector<std::int64_t> DistributedSampler::whole_epoch() const {
  std::vector<std::int64_t> all(data_set_size_);
  if (!options_.shuffle) {
    std::iota(all.begin(), all.end(), 0);
    return all;
  }
  auto generator = at::detail::createCPUGenerator(options_.seed + epoch_);
  const auto shuffled = torch::randperm(data_set_size_, generator, torch::kInt64);
  const auto* values = shuffled.const_data_ptr<std::int64_t>();
  all.assign(values, values + data_set_size_);
  return all;
}

}  // namespace ddprun::sdk
