// SamplerState: where in an epoch a training stands, whatever the number of workers.
#pragma once

#include <cstdint>

namespace ddprun::sdk {

/// See DistributedSampler, which gives and takes it; checkpoints hold it.
struct SamplerState {
  std::int64_t epoch = 0;
  std::int64_t consumed = 0;  // samples of this epoch that all ranks together have used up
  bool operator==(const SamplerState&) const = default;
};

}  // namespace ddprun::sdk
