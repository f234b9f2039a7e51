// SamplerState: where in an epoch a training stands, whatever the number of workers. Needs no
// LibTorch.
#pragma once

#include <cstdint>

namespace ddprun::sdk {

/// A place in a training's data. DistributedSampler gives and takes it, and checkpoints hold it.
struct SamplerState {
  std::int64_t epoch = 0;
  std::int64_t consumed = 0;  // samples of this epoch that all ranks together have seen
  bool operator==(const SamplerState&) const = default;
};

}  // namespace ddprun::sdk
