// InitMethod: how the workers of a job find one another. It is the init_method of
// init_process_group() (https://docs.pytorch.org/docs/stable/distributed.html#initialization),
// taken apart.
#pragma once

#include <optional>
#include <string>

#include "ddprun/worker_env.hpp"

namespace ddprun::sdk {

/// What an init_method says.
struct InitMethod {
  enum class Kind { kEnv, kTcp, kFile };
  Kind kind = Kind::kEnv;
  std::string host;  // for kTcp
  int port = 0;      // for kTcp
  std::string path;  // for kFile
  std::optional<int> rank = {};
  std::optional<int> world_size = {};
};

/// Reads "", "env://", "tcp://HOST:PORT" or "file:///PATH", each of which may end with
/// "?rank=R&world_size=N". Errors: std::invalid_argument with the text and what was expected.
InitMethod parse_init_method(const std::string& text);

/// Returns this worker's place: what `method` does not say is taken from the environment. Errors:
/// EnvironmentError.
WorkerEnv place_of_worker(const InitMethod& method, const EnvironmentLookup& lookup);

}  // namespace ddprun::sdk
