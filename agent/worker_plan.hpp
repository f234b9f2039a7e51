// worker_plan: which commands, with which environment, make up this node's part of a round. Pure.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "agent/launch_spec.hpp"

namespace ddprun {

/// One process to start.
struct Command {
  std::string program;                   // a path: PATH is not searched
  std::vector<std::string> arguments;    // argv
  std::vector<std::string> environment;  // "NAME=value", all of it
};

/// What the plan needs to know of the machine.
struct NodeFacts {
  std::vector<std::string> environment;  // the agent's own, "NAME=value"
  int usable_cpus = 1;
  std::filesystem::path error_directory;  // "" when there is none
};

/// Where a worker records the exception that ended it; its parent directory must be created.
/// "" without an error directory.
std::filesystem::path error_file(const NodeFacts& node, const StartRound& round, int local_rank);

/// The commands of this node in `round`, by local rank. The environment is torchrun's: see
/// worker_sdk/worker_env.hpp.
std::vector<Command> plan_workers(const LaunchSpec& spec, const StartRound& round,
                                  const NodeFacts& node);

}  // namespace ddprun
