#include "ddprun/distributed_sampler.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "worker_sdk/data/epoch_order.hpp"

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
}

void DistributedSampler::set_epoch(std::int64_t epoch) {
  if (epoch != begin_.epoch) begin_ = {epoch, 0};
}

std::int64_t DistributedSampler::size() const {
  const std::int64_t left = data_set_size_ - begin_.consumed;
  return options_.drop_last ? left / world_size_ : divide_up(left, world_size_);
}

std::vector<std::int64_t> DistributedSampler::indices() const {
  const std::vector<std::int64_t> all = whole_epoch();
  std::vector<std::int64_t> mine;
  mine.reserve(size());
  const std::int64_t end = begin_.consumed + size() * world_size_;
  // Past the end, samples from the beginning follow, so that all ranks have equally many.
  for (std::int64_t i = begin_.consumed + rank_; i < end; i += world_size_)
    mine.push_back(all[i % data_set_size_]);
  return mine;
}

SamplerState DistributedSampler::state_after(std::int64_t count) const {
  if (count < 0 || count > size())
    throw std::invalid_argument{"DistributedSampler: " + std::to_string(count) +
                                " samples used up, expected 0 to " + std::to_string(size())};
  // Ranks take turns, so together they have seen the first count * world_size samples; repeated
  // ones do not count. A finished epoch counts as a whole, or a later world would find the tail
  // that drop_last has left out.
  const bool finished = count == size();
  const std::int64_t used = begin_.consumed + count * world_size_;
  return {begin_.epoch, finished ? data_set_size_ : std::min(used, data_set_size_)};
}

void DistributedSampler::resume(const SamplerState& state) {
  if (state.epoch < 0 || state.consumed < 0 || state.consumed > data_set_size_)
    throw std::invalid_argument{
        "DistributedSampler: cannot go on in epoch " + std::to_string(state.epoch) + " after " +
        std::to_string(state.consumed) + " samples of " + std::to_string(data_set_size_)};
  begin_ = state;
}

std::vector<std::int64_t> DistributedSampler::whole_epoch() const {
  return options_.shuffle ? shuffled_epoch(data_set_size_, options_.seed, begin_.epoch)
                          : ordered_epoch(data_set_size_);
}

}  // namespace ddprun::sdk
