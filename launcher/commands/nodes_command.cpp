#include "launcher/commands/nodes_command.hpp"

#include <filesystem>
#include <system_error>

#include "agent/output/console.hpp"
#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/number_text.hpp"
#include "base/system/silence_note.hpp"
#include "launcher/commands/nodes_text.hpp"
#include "launcher/nodes/node_folder.hpp"
#include "launcher/options/command_options.hpp"
#include "launcher/settings/values.hpp"

namespace ddprun {

namespace {

struct NodesOptions {
  std::string folder;
  std::vector<std::string> forgiven;
  std::string strikes = std::to_string(kNodeStrikes);
  std::string window = "24h";
  bool json = false;
};

void declare(CommandOptions& command, NodesOptions& options) {
  command.argument("DIR", options.folder, "the folder of --node-history",
                   {.variable = "PET_NODE_HISTORY", .required = true});
  command.option("--forgive", options.forgiven, "NODE,...", "forget the failures of these nodes",
                 {.separator = ','});
  command.option("--strikes", options.strikes, "N", "failures with which a node is left out");
  command.option("--window", options.window, "TIME", "time within which they lie");
  command.flag("--json", options.json, "for programs");
}

Result<int> forgive(const NodesOptions& options, const CommandContext& context) {
  int code = 0;
  for (const std::string& host : options.forgiven) {
    const auto forgiven = forgive_node(options.folder, host);
    if (!forgiven) return forgiven.error();
    if (*forgiven == 0) {
      log::error("'{}' knows no failure of node '{}': `ddprun nodes {}` lists the names",
                 options.folder, host, options.folder);
      code = 1;
      continue;
    }
    context.out.write("forgave " + host + " " + counted(*forgiven, "failure") + "\n");
  }
  return code;
}

Result<int> show(const NodesOptions& options, const NodePolicy& policy,
                 const CommandContext& context) {
  std::error_code error;
  if (!std::filesystem::is_directory(options.folder, error))
    return Error{Error::Kind::kNotFound,
                 "nodes: '" + options.folder +
                     "' is no folder: expected that of --node-history, which a job makes when "
                     "the first failure of a node is kept"};
  const auto found = read_node_records(options.folder);
  if (!found) return found.error();
  for (const std::string& file : found->unread) log::warn("a record cannot be read: {}", file);
  const auto now = unix_time_ms();
  const auto lines = lines_of_nodes(found->records, policy, now);
  context.out.write(options.json ? nodes_json(lines, policy)
                                 : nodes_text(lines, policy, options.folder, now));
  return 0;
}

}  // namespace

Result<int> run_nodes(const std::vector<std::string>& words, const CommandContext& context) {
  NodesOptions options;
  CommandOptions command{
      "Shows which nodes caused failures of jobs, as --node-history keeps them, and which are left "
      "out because of that; forgives those that were mended.",
      "ddprun nodes"};
  command.examples(
      "ddprun nodes /shared/nodes\n"
      "ddprun nodes /shared/nodes --forgive node-7");
  declare(command, options);
  if (const auto done = command.parse(words, context.out)) return *done;
  const SilenceNote note{options.folder};
  if (!options.forgiven.empty()) return forgive(options, context);
  const auto strikes = parse_integer({options.strikes, "--strikes"}, 1, kNodeFailuresMax);
  if (!strikes) return strikes.error();
  const auto window = parse_seconds({options.window, "--window"}, true);
  if (!window) return window.error();
  return show(options, {*strikes, window->count()}, context);
}

}  // namespace ddprun
