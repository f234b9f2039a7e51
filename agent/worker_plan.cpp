#include "agent/worker_plan.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <map>

#include "worker_sdk/worker_env.hpp"

namespace ddprun {

namespace {

namespace env = sdk::env;
using Environment = std::map<std::string, std::string>;

Environment parse(const std::vector<std::string>& environment) {
  Environment parsed;
  for (const std::string& entry : environment) {
    const std::size_t equals = entry.find('=');
    if (equals != std::string::npos) parsed[entry.substr(0, equals)] = entry.substr(equals + 1);
  }
  return parsed;
}

std::string names(const std::vector<int>& signals) {
  std::string out;
  for (const int signal : signals) {
    if (!out.empty()) out += ',';
    out += signal_name(signal);
  }
  return out;
}

/// What is the same for all workers of this node. Values the user has set for the libraries win.
Environment node_environment(const LaunchSpec& spec, const StartRound& round,
                             const NodeFacts& node) {
  Environment out = parse(node.environment);
  out[env::kWorldSize] = std::to_string(round.world_size);
  out[env::kLocalWorldSize] = std::to_string(spec.workers);
  out[env::kGroupRank] = std::to_string(round.group_rank);
  out[env::kGroupWorldSize] = std::to_string(round.group_world_size);
  out[env::kRoleName] = spec.role;
  out[env::kRoleWorldSize] = std::to_string(round.role_world_size);
  out[env::kMasterAddr] = round.master_addr;
  out[env::kMasterPort] = std::to_string(round.master_port);
  out[env::kRestartCount] = std::to_string(round.attempt);
  out[env::kMaxRestarts] = std::to_string(spec.rules.restarts_max);
  out[env::kRunId] = spec.run_id;
  out[env::kSignalsToHandle] = names(spec.stop_signals);
  out[env::kUseAgentStore] = "True";  // torch compares with exactly this text
  out.try_emplace(env::kNcclAsyncErrorHandling, "1");
  if (spec.workers > 1)
    out.try_emplace(env::kOmpNumThreads,
                    std::to_string(std::max(1, node.usable_cpus / spec.workers)));
  return out;
}

std::vector<std::string> flatten(const Environment& environment) {
  std::vector<std::string> flat;
  flat.reserve(environment.size());
  for (const auto& [name, value] : environment) flat.push_back(fmt::format("{}={}", name, value));
  return flat;
}

std::string with_local_rank(std::string argument, int local_rank) {
  static constexpr std::string_view kPlaceholder = "${local_rank}";
  const std::string value = std::to_string(local_rank);
  for (std::size_t at = 0; (at = argument.find(kPlaceholder, at)) != std::string::npos;
       at += value.size())
    argument.replace(at, kPlaceholder.size(), value);
  return argument;
}

}  // namespace

std::filesystem::path error_file(const NodeFacts& node, const StartRound& round, int local_rank) {
  if (node.error_directory.empty()) return {};
  // Counted by rounds, not by failures, so that nothing of an earlier round is overwritten.
  return node.error_directory / ("attempt_" + std::to_string(round.round - 1)) /
         std::to_string(local_rank) / "error.json";
}

std::vector<Command> plan_workers(const LaunchSpec& spec, const StartRound& round,
                                  const NodeFacts& node) {
  Environment environment = node_environment(spec, round, node);
  std::vector<Command> commands;
  for (int local_rank = 0; local_rank < spec.workers; ++local_rank) {
    environment[env::kRank] = std::to_string(round.first_rank + local_rank);
    environment[env::kLocalRank] = std::to_string(local_rank);
    environment[env::kRoleRank] = std::to_string(round.first_role_rank + local_rank);
    environment[env::kErrorFile] = error_file(node, round, local_rank).string();
    Command command{spec.program, spec.arguments, flatten(environment)};
    // argv[0] is the program itself, which torchrun does not substitute in either.
    for (std::size_t i = 1; i < command.arguments.size(); ++i)
      command.arguments[i] = with_local_rank(std::move(command.arguments[i]), local_rank);
    commands.push_back(std::move(command));
  }
  return commands;
}

}  // namespace ddprun
