// The key-value store through which the workers of a job meet.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <vector>

#include "worker_sdk/group/init_method.hpp"

namespace ddprun::sdk {

using StorePtr = c10::intrusive_ptr<c10d::Store>;

/// Returns the store of all workers, as a part that has no keys yet. All workers must call it
/// equally often, because each call gets another part. The connection stays open until the process
/// ends, so that one group can follow another and no rank finds a store that is just about to
/// close. Errors: std::runtime_error when the store cannot be reached within `timeout`.
StorePtr open_store(const InitMethod& method, const WorkerEnv& env,
                    std::chrono::milliseconds timeout);

/// Returns a connection of its own to the store of all workers, which ends with the last handle of
/// it, and no part of the store. Errors: as open_store().
StorePtr connect_store(const InitMethod& method, const WorkerEnv& env,
                       std::chrono::milliseconds timeout);

/// Closes the connection after a meeting has failed: the next one begins in a new store.
void forget_store(const InitMethod& method, const WorkerEnv& env);

/// Returns `store` with `name` and a slash before all keys. Python's torch.distributed names them
/// so, and its workers must find ours.
StorePtr with_prefix(const std::string& name, const StorePtr& store);

/// One rank's part in a meeting.
struct Attendance {
  int rank = 0;
  int size = 1;
  std::chrono::milliseconds timeout{};
  std::string brings = "here";  // the others find it about this rank under KEY/RANK
  /// Called when all have come, as long as their keys are there. What it throws comes out.
  std::function<void()> when_all = [] {};
};

/// Tells the others that this rank has come, and waits for none. KEY/some/WHAT is there for each
/// thing that somebody brings.
void announce(c10d::Store& store, const std::string& key, const Attendance& own);

/// Waits until all ranks have called it, or announce(), with the same `key`. Returns the ranks that
/// have not come within the timeout, none of them if all is well. Errors: c10::Error when the store
/// is gone.
std::vector<int> await_all(c10d::Store& store, const std::string& key, const Attendance& own);

/// Returns a text that names the ranks whose backend is not that of most, and what both are: "ranks
/// 2 and 3 have chosen gloo, the others nccl..."; `ranks` are those of each backend. Pure.
std::string describe_backends(const std::map<std::string, std::vector<int>>& ranks);

/// Returns a text such as "rank 3", "ranks 1, 3 and 4" or "ranks 1 to 63".
std::string list_ranks(const std::vector<int>& ranks);

}  // namespace ddprun::sdk
