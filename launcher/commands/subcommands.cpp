#include "launcher/commands/subcommands.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "agent/output/console.hpp"
#include "launcher/commands/command_line.hpp"
#include "launcher/commands/file_commands.hpp"
#include "launcher/commands/nodes_command.hpp"
#include "launcher/commands/secret_command.hpp"
#include "launcher/commands/serve.hpp"
#include "launcher/doctor/doctor_command.hpp"
#include "launcher/hosts/host_agent.hpp"
#include "launcher/live/debug_command.hpp"
#include "launcher/live/live_commands.hpp"
#include "launcher/settings/words.hpp"
#include "launcher/topology/topo_command.hpp"

namespace ddprun {

namespace {

Result<int> run_agent(const std::vector<std::string>& words, const CommandContext& context) {
  return run_host_agent(words, context, parse_launch);
}

Result<int> run_help(const std::vector<std::string>& words, const CommandContext& context);

constexpr std::string_view kRunning = "Commands for running jobs";
constexpr std::string_view kOther = "Other commands";

constexpr Subcommand kSubcommands[] = {
    {kRunning, "ls", "lists the running jobs of this user on this machine", run_ls},
    {kRunning, "status", "shows a job's state, nodes, ranks and progress", run_status},
    {kRunning, "top", "shows the same, and keeps it up to date", run_top},
    {kRunning, "logs", "shows what a worker writes: ddprun logs [JOB] RANK", run_logs},
    {kRunning, "dump", "shows where all workers are, with file and line", run_dump},
    {kRunning, "debug", "opens a debugger in one rank: ddprun debug [JOB] RANK", run_debug},
    {kRunning, "stop", "stops a job, as Ctrl-C would", run_stop},
    {kOther, "explain", "prints the report of a job again: ddprun explain FILE", run_explain},
    {kOther, "server", "a meeting place for any number of jobs, which outlives them", run_server},
    {kOther, "secret", "makes the secret of a job: ddprun secret > FILE", run_secret},
    {kOther, "doctor", "says before a job what would make it fail on its nodes", run_doctor},
    {kOther, "nodes", "shows which nodes caused failures, and forgives them", run_nodes},
    {kOther, "topo", "draws this machine, and where --numa-binding puts workers", run_topo},
    {kOther, "trace", "draws the timeline of a job from its --event-log", run_trace},
    {kOther, "checkpoint", "lists and verifies the worker SDK's checkpoints", run_checkpoint},
    {kOther, "store", "runs the store of torch.distributed (TCPStore) alone", run_store},
    {kOther, "agent", "", run_agent},
    {kOther, "help", "", run_help},
};

const Subcommand* command_named(std::string_view name) {
  const auto* const found = std::ranges::find(kSubcommands, name, &Subcommand::name);
  return found == std::end(kSubcommands) ? nullptr : found;
}

/// `ddprun help stop` prints what `ddprun stop --help` does.
Result<int> run_help(const std::vector<std::string>& words, const CommandContext& context) {
  const std::string name = words.empty() || words.front().starts_with('-') ? "help" : words.front();
  const Subcommand* const command = command_named(name);
  if (name == "help" || name == "launch") {
    context.out.write(help_text(command_help()));
    return 0;
  }
  if (command != nullptr) return command->run({"--help"}, context);
  const std::string meant{meant_command(name)};
  return invalid("help: there is no command '" + name + "'" +
                 (meant.empty() ? "" : "; did you mean " + meant + "?"));
}

}  // namespace

bool stands_in_for_torchrun(std::string_view program) {
  const std::string_view name = program.substr(program.rfind('/') + 1);  // npos + 1 is 0
  return name == "torchrun" || name == "ddprun-torchrun";
}

std::span<const Subcommand> subcommands() { return kSubcommands; }

std::vector<HelpGroup> command_help() {
  std::vector<HelpGroup> groups;
  for (const Subcommand& command : kSubcommands) {
    if (command.help.empty()) continue;
    if (groups.empty() || groups.back().title != command.group)
      groups.push_back({command.group, {}});
    groups.back().entries.push_back({std::string{command.name}, std::string{command.help}});
  }
  return groups;
}

std::string_view meant_command(std::string_view word) {
  std::vector<std::string_view> names;
  for (const Subcommand& command : kSubcommands)
    if (!command.help.empty()) names.push_back(command.name);
  return closest_word(word, names);
}

const Subcommand* find_subcommand(std::string_view program, const std::vector<std::string>& words) {
  if (words.empty() || stands_in_for_torchrun(program)) return nullptr;
  std::error_code unreadable;  // the interpreter reports this
  if (words.front() == "help" && std::filesystem::exists("help", unreadable)) return nullptr;
  return command_named(words.front());
}

}  // namespace ddprun
