// How the workers of a job find one another: the init_method of init_process_group()
// (https://docs.pytorch.org/docs/stable/distributed.html#initialization), taken apart.
#pragma once

#include <optional>
#include <string>

#include "ddprun/worker_env.hpp"

namespace ddprun::sdk {

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

}  // namespace ddprun::sdk
