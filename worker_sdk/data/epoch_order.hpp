// The order of an epoch's samples.
#pragma once

#include <cstdint>
#include <vector>

namespace ddprun::sdk {

/// Returns the indices from 0 to size - 1 as torch.utils.data.DistributedSampler shuffles them.
std::vector<std::int64_t> shuffled_epoch(std::int64_t size, std::uint64_t seed, std::int64_t epoch);

/// Returns them in their order.
std::vector<std::int64_t> ordered_epoch(std::int64_t size);

}  // namespace ddprun::sdk
