// What DistributedDataParallel does with a bucket of gradients in place of a plain all-reduce.
#pragma once

#include <memory>
#include <torch/csrc/distributed/c10d/comm.hpp>

#include "ddprun/distributed_data_parallel.hpp"

namespace ddprun::sdk {

/// Returns what c10d::Reducer::register_comm_hook() takes; null for CommHook::kAllReduce, which the
/// Reducer does faster without a hook. Errors: std::invalid_argument for options of PowerSGD that
/// make no sense.
std::unique_ptr<c10d::CommHookInterface> make_comm_hook(const DdpOptions& options,
                                                        const ProcessGroup& group);

}  // namespace ddprun::sdk
