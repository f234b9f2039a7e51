// Decides what a PBS or LSF batch script's ddprun does: its scheduler leaves it to the job to reach
// its nodes, so they become hosts that ssh reaches, as by --hosts. Pure.
#pragma once

#include <optional>
#include <string>

#include "base/result.hpp"
#include "launcher/environments/cluster_env.hpp"
#include "launcher/settings/arguments.hpp"

namespace ddprun {

/// Whether the command line is about this node alone, or the user starts the others: then it does
/// not matter which nodes the batch job has.
bool stays_on_this_node(const Settings& settings);

/// Returns the settings of a job that has --hosts by its scheduler. nullopt: the command line is
/// about this node alone, or the user starts the others. Errors: kInvalid, when the job has too few
/// nodes.
Result<std::optional<Settings>> settings_on_hosts(const HostList& batch, const Settings& settings);

/// Returns a line for the user: "PBS job 12: starting on 2 nodes over ssh".
std::string describe(const HostList& batch, std::size_t nodes);

}  // namespace ddprun
