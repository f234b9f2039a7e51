#include "launcher/environments/batch_job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "launcher/settings/values.hpp"

namespace ddprun {

namespace {

/// Whether the user says how the nodes meet. Then the user also starts them.
bool starts_nodes_by_hand(const Settings& settings) {
  const auto given = [&](const char* option) { return settings[option].given; };
  return settings.on("standalone") || given("node-rank") || given("rdzv-endpoint") ||
         given("master-addr");
}

}  // namespace

bool stays_on_this_node(const Settings& settings) {
  const Setting& wanted = settings["nnodes"];
  const auto nodes = parse_nodes(wanted);
  return starts_nodes_by_hand(settings) || (wanted.given && nodes && nodes->max == 1);
}

Result<std::optional<Settings>> settings_on_hosts(const HostList& batch, const Settings& settings) {
  std::size_t count = batch.hosts.size();
  if (count == 1 || stays_on_this_node(settings)) return std::optional<Settings>{};
  if (const Setting& wanted = settings["nnodes"]; wanted.given) {
    const auto nodes = parse_nodes(wanted);
    if (!nodes) return nodes.error();
    if (nodes->min > static_cast<int>(count))
      return unexpected(wanted, fmt::format("{} has {} nodes", batch.by, count));
    const bool elastic = wanted.text.find(':') != std::string::npos;  // those beyond are spares
    if (!elastic) count = static_cast<std::size_t>(nodes->max);
  }
  std::string names;
  for (std::size_t i = 0; i < count; ++i) names += (i == 0 ? "" : ",") + batch.hosts[i];
  Settings there = settings;
  there.set("hosts", {names, batch.by, true});
  if (!settings["rdzv-id"].given) there.set("rdzv-id", {batch.run_id, batch.by, true});
  return std::optional{std::move(there)};
}

std::string describe(const HostList& batch, std::size_t nodes) {
  return fmt::format("{}: starting on {} nodes over ssh", batch.by, nodes);
}

}  // namespace ddprun
