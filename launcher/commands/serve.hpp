// Commands that listen on a port until they are stopped.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "launcher/run/stage.hpp"

namespace ddprun {

/// `ddprun server`: the coordinator of any job that comes.
Result<int> run_server(const std::vector<std::string>& words, const Stage& stage);

/// `ddprun store`: the worker store alone.
Result<int> run_store(const std::vector<std::string>& words, const Stage& stage);

}  // namespace ddprun
