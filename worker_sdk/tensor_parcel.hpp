// Named tensors from one rank to another that knows neither their names nor their shapes.
#pragma once

#include <torch/torch.h>

#include <map>
#include <string>

#include "worker_sdk/process_group.hpp"

namespace ddprun::sdk {

using NamedTensors = std::map<std::string, torch::Tensor>;

/// Names have no white space. Returns when they are on their way; rank `peer` calls
/// receive_tensors(). Errors: as ProcessGroup::send().
void send_tensors(const NamedTensors& tensors, const ProcessGroup& group, int peer);

/// New tensors on group.device(). Errors: as ProcessGroup::recv(); std::runtime_error when what
/// comes is no such parcel.
NamedTensors receive_tensors(const ProcessGroup& group, int peer);

}  // namespace ddprun::sdk
