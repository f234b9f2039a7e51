// The states of all workers' random number generators, so that a training that goes on draws the
// numbers it would have drawn.
#pragma once

#include <torch/torch.h>

#include <map>
#include <string>

#include "ddprun/process_group.hpp"

namespace ddprun::sdk {

/// Of every rank the default generators' states, as torch.get_rng_state() gives them
/// (https://docs.pytorch.org/docs/stable/generated/torch.get_rng_state.html): uint8 tensors on the
/// CPU under "RANK/cpu", and "RANK/cuda" for the worker's own GPU. Called on all ranks, 5 kB each.
std::map<std::string, torch::Tensor> gather_rng_states(const ProcessGroup& group);

/// Puts back this rank's, if there was such a rank; in a larger world than before the new ranks'
/// generators stay as they are. Errors: std::runtime_error for a state that is none.
void restore_rng_state(const ProcessGroup& group,
                       const std::map<std::string, torch::Tensor>& states);

}  // namespace ddprun::sdk
