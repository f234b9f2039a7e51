// check_same_parameters(): makes sure that all ranks have the same module, before anything is
// reduced. A difference would become a wrong sum or a hang.
#pragma once

#include <torch/torch.h>

#include "ddprun/process_group.hpp"

namespace ddprun::sdk {

/// Compares the parameters' and buffers' names, dtypes, shapes, strides and need of gradients with
/// rank 0's. All ranks call it, and it throws on all of them alike. Errors: std::invalid_argument;
/// what() names the first parameter that differs on each of the ranks.
void check_same_parameters(const torch::nn::Module& module, const ProcessGroup& group);

}  // namespace ddprun::sdk
