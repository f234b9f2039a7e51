// gather_tensors(): collects named tensors of all ranks at one rank, which knows neither their
// names nor their shapes before.
#pragma once

#include <torch/torch.h>

#include <map>
#include <string>
#include <vector>

#include "ddprun/process_group.hpp"

namespace ddprun::sdk {

using NamedTensors = std::map<std::string, torch::Tensor>;

/// Returns on rank `root` the tensors of all other ranks, in the order of ranks, on the CPU; on the
/// others an empty list. No more than one of them at a time is on a GPU beside those that were
/// there. All ranks call it. Names and shapes may differ from rank to rank. Errors: those of
/// ProcessGroup.
std::vector<NamedTensors> gather_tensors(const NamedTensors& tensors, const ProcessGroup& group,
                                         int root);

}  // namespace ddprun::sdk
