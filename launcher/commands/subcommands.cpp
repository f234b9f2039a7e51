#include "launcher/commands/subcommands.hpp"

#include <algorithm>

#include "launcher/commands/checkpoint_command.hpp"
#include "launcher/commands/command_line.hpp"
#include "launcher/commands/secret_command.hpp"
#include "launcher/commands/serve.hpp"
#include "launcher/commands/trace_command.hpp"
#include "launcher/hosts/host_agent.hpp"
#include "launcher/live/live_commands.hpp"
#include "launcher/live/top_command.hpp"
#include "launcher/topology/topo_command.hpp"

namespace ddprun {

namespace {

Result<int> run_agent(const std::vector<std::string>& words, const Stage& stage) {
  return run_host_agent(words, stage, parse_launch);
}

constexpr Subcommand kSubcommands[] = {
    {"agent", "", run_agent},
    {"checkpoint", "lists and verifies the worker SDK's checkpoints", run_checkpoint},
    {"dump", "says what all workers of a running job do at this moment", run_dump},
    {"logs", "shows what a worker of a running job writes: ddprun logs JOB RANK", run_logs},
    {"ls", "lists the running jobs of this user on this machine", run_ls},
    {"secret", "makes a secret for a job: ddprun secret > FILE", run_secret},
    {"server", "the meeting place of any number of jobs, which outlives them", run_server},
    {"status", "tells how a running job is: state, nodes, ranks, progress", run_status},
    {"stop", "stops a running job, as Ctrl-C would", run_stop},
    {"store", "the store of torch.distributed (TCPStore) alone", run_store},
    {"top", "shows how a running job is, all the time", run_top},
    {"topo", "draws this machine, and where --numa-binding puts workers", run_topo},
    {"trace", "draws the timeline of a job from its --event-log", run_trace},
};

bool stands_in_for_torchrun(std::string_view program) {
  const std::string_view name = program.substr(program.rfind('/') + 1);  // npos + 1 is 0
  return name == "torchrun" || name == "ddprun-torchrun";
}

}  // namespace

std::span<const Subcommand> subcommands() { return kSubcommands; }

const Subcommand* find_subcommand(std::string_view program, const std::vector<std::string>& words) {
  if (words.empty() || stands_in_for_torchrun(program)) return nullptr;
  const auto* const found = std::ranges::find(kSubcommands, words.front(), &Subcommand::name);
  return found == std::end(kSubcommands) ? nullptr : found;
}

}  // namespace ddprun
