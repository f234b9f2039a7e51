// How the workers of a job find one another: the init_method of init_process_group()
// (https://docs.pytorch.org/docs/stable/distributed.html#initialization), taken apart, and the
// store that it leads to.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <vector>

#include "worker_sdk/worker_env.hpp"

namespace ddprun::sdk {

using StorePtr = c10::intrusive_ptr<c10d::Store>;

struct InitMethod {
  enum class Kind { kEnv, kTcp, kFile };
  Kind kind = Kind::kEnv;
  std::string host;  // kTcp
  int port = 0;      // kTcp
  std::string path;  // kFile
  std::optional<int> rank = {};
  std::optional<int> world_size = {};
};

/// "", "env://", "tcp://HOST:PORT", "file:///PATH"; any of them with "?rank=R&world_size=N".
/// Errors: std::invalid_argument with the text and what was expected.
InitMethod parse_init_method(const std::string& text);

/// What `method` says of this worker's place; else the environment does. Errors: EnvironmentError.
WorkerEnv place_of_worker(const InitMethod& method, const EnvironmentLookup& lookup);

/// The store of all workers, with nobody else's keys in it, as long as all of them call it equally
/// often. It is kept open until the process ends, so that a group can follow another: nobody finds
/// a store that is just about to close. Errors: std::runtime_error when it cannot be reached.
StorePtr open_store(const InitMethod& method, const WorkerEnv& env,
                    std::chrono::milliseconds timeout);

/// After a meeting that failed: the next one begins in a new store.
void forget_store(const InitMethod& method, const WorkerEnv& env);

/// Waits until all `size` ranks have called it with the same `key`. Returns those that have not
/// come within `timeout`: none, if all is well. Errors: c10::Error when the store is gone.
std::vector<int> await_all(c10d::Store& store, const std::string& key, int rank, int size,
                           std::chrono::milliseconds timeout);

/// "rank 3", "ranks 1, 3 and 4", "ranks 1 to 63 of 64".
std::string list_ranks(const std::vector<int>& ranks);

}  // namespace ddprun::sdk
