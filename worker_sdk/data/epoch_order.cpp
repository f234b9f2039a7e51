#include "worker_sdk/data/epoch_order.hpp"

#include <ATen/CPUGeneratorImpl.h>
#include <torch/torch.h>

#include <numeric>

namespace ddprun::sdk {

std::vector<std::int64_t> shuffled_epoch(std::int64_t size, std::uint64_t seed,
                                         std::int64_t epoch) {
  auto generator = at::detail::createCPUGenerator(seed + static_cast<std::uint64_t>(epoch));
  const auto shuffled = torch::randperm(size, generator, torch::kInt64);
  const auto* values = shuffled.const_data_ptr<std::int64_t>();
  return {values, values + size};
}

std::vector<std::int64_t> ordered_epoch(std::int64_t size) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(size));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

}  // namespace ddprun::sdk
