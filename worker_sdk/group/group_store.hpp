// The key-value store in which the workers of a job meet, and meetings in it. Not for programs.
#pragma once

#include <chrono>
#include <string>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <vector>

#include "worker_sdk/group/init_method.hpp"

namespace ddprun::sdk {

using StorePtr = c10::intrusive_ptr<c10d::Store>;

/// The store of all workers, with nobody else's keys in it, as long as all of them call it equally
/// often. It is kept open until the process ends, so that a group can follow another: nobody finds
/// a store that is just about to close. Errors: std::runtime_error when it cannot be reached.
StorePtr open_store(const InitMethod& method, const WorkerEnv& env,
                    std::chrono::milliseconds timeout);

/// After a meeting that failed: the next one begins in a new store.
void forget_store(const InitMethod& method, const WorkerEnv& env);

/// `store` with `name` and a slash before all keys, as Python's torch.distributed has them, so that
/// its workers can be met.
StorePtr with_prefix(const std::string& name, const StorePtr& store);

/// Waits until all `size` ranks have called it with the same `key`. Returns those that have not
/// come within `timeout`: none, if all is well. Errors: c10::Error when the store is gone.
std::vector<int> await_all(c10d::Store& store, const std::string& key, int rank, int size,
                           std::chrono::milliseconds timeout);

/// "rank 3", "ranks 1, 3 and 4", "ranks 1 to 63 of 64".
std::string list_ranks(const std::vector<int>& ranks);

}  // namespace ddprun::sdk
