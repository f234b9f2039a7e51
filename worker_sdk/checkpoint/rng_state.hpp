// Saves and restores the states of all workers' random number generators, so that a training that
// goes on draws the numbers it would have drawn.
#pragma once

#include <torch/torch.h>

#include <map>
#include <string>

#include "ddprun/process_group.hpp"

namespace ddprun::sdk {

/// Returns the states of every rank's default generators, as torch.get_rng_state() gives them
/// (https://docs.pytorch.org/docs/stable/generated/torch.get_rng_state.html): uint8 tensors on the
/// CPU under "RANK/cpu", and "RANK/cuda" for the worker's own GPU, about 5 kB each. All ranks
/// call it. Errors: CommunicationError.
std::map<std::string, torch::Tensor> gather_rng_states(const ProcessGroup& group);

/// Puts back the states of this rank. A rank that is not in `states`, because the world was smaller
/// then, keeps its generators as they are. Errors: std::runtime_error for bytes that are no state.
void restore_rng_state(const ProcessGroup& group,
                       const std::map<std::string, torch::Tensor>& states);

}  // namespace ddprun::sdk
