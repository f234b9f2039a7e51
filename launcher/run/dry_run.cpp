#include "launcher/run/dry_run.hpp"

#include <fmt/format.h>

#include <numeric>
#include <set>
#include <string_view>
#include <utility>

#include "base/numbers.hpp"
#include "launcher/settings/words.hpp"

namespace ddprun {

namespace {

// These stand for what only a real run knows.
constexpr char kAnyFreePort[] = "<any free port>";
constexpr char kRunDirectory[] = "<run directory>";
constexpr char kFreshId[] = "<fresh id>";
constexpr char kByMeeting[] = "<set when the nodes have met>";

/// The first round, as far as it can be foreseen.
struct Foreseen {
  StartRound round;
  std::set<std::string_view> open;  // variables whose values are known when the nodes have met
};

Foreseen first_round(const LaunchSpec& spec, const std::vector<int>& workers_of_nodes) {
  const Meeting& meeting = spec.meeting;
  const bool local = spec.terms.store == StoreAt::kLocal;
  Foreseen first{.round = {.round = 1,
                           .group_world_size = spec.terms.nodes_max,
                           .world_size = spec.workers,
                           .master_addr = local ? "127.0.0.1" : meeting.coordinator.host,
                           .master_port = local ? 0 : meeting.coordinator.port},
                 .open = {}};
  StartRound& round = first.round;
  // With fewer nodes than there may be, the ranks of nodes move up.
  const bool all_come = spec.terms.nodes_min == spec.terms.nodes_max;
  const bool counted =
      all_come && workers_of_nodes.size() == static_cast<std::size_t>(spec.terms.nodes_max);
  if (counted)
    round.world_size = std::reduce(workers_of_nodes.begin(), workers_of_nodes.end());
  else if (!spec.terms.has_one_node())
    first.open.insert({"WORLD_SIZE", "ROLE_WORLD_SIZE"});
  if (!all_come) first.open.insert("GROUP_WORLD_SIZE");
  round.role_world_size = round.world_size;
  if (spec.terms.has_one_node()) return first;
  if (meeting.etcd && !local) first.open.insert({"MASTER_ADDR", "MASTER_PORT"});
  if (!all_come || meeting.node_rank < 0) {
    first.open.insert({"GROUP_RANK", "RANK", "ROLE_RANK"});
    return first;
  }
  round.group_rank = meeting.node_rank;
  if (counted)
    round.first_rank =
        std::reduce(workers_of_nodes.begin(), workers_of_nodes.begin() + meeting.node_rank);
  else if (meeting.node_rank > 0)
    first.open.insert({"RANK", "ROLE_RANK"});
  round.first_role_rank = round.first_rank;
  return first;
}

std::string assignment(const std::string& entry, const Foreseen& first) {
  const std::size_t equals = entry.find('=');
  const std::string name = entry.substr(0, equals);
  if (first.open.contains(name)) return name + "=" + shell_word(kByMeeting);
  if (entry == "MASTER_PORT=0") return name + "=" + shell_word(kAnyFreePort);
  return name + "=" + shell_word(entry.substr(equals + 1));
}

/// "rank 3", or "local rank 1" where the rank is not known.
std::string heading(const Foreseen& first, int local_rank) {
  if (first.open.contains("RANK")) return fmt::format("local rank {}", local_rank);
  return fmt::format("rank {}", first.round.first_rank + local_rank);
}

}  // namespace

std::string dry_run(const LaunchSpec& spec, MachineFacts machine,
                    const std::vector<int>& workers_of_nodes) {
  NodeFacts node{.machine = std::move(machine)};
  node.run.run_id = spec.meeting.run_id.empty() ? kFreshId : spec.meeting.run_id;
  if (!spec.logs.no_files) node.paths.run_directory = kRunDirectory;
  const std::set<std::string> ours{node.machine.environment.begin(),
                                   node.machine.environment.end()};
  const Foreseen first = first_round(spec, workers_of_nodes);
  std::vector<Command> commands = plan_workers(spec, first.round, node);
  std::string out;
  for (std::size_t local_rank = 0; local_rank < commands.size(); ++local_rank) {
    Command& command = commands[local_rank];
    out += "# " + heading(first, static_cast<int>(local_rank));
    if (!command.placement.cpus.empty())
      out += fmt::format(", CPUs {}, memory of NUMA node {}",
                         format_number_list(command.placement.cpus),
                         format_number_list(command.placement.memory_nodes));
    out += "\nenv";
    for (const std::string& entry : command.environment) {
      if (!ours.contains(entry)) out += " " + assignment(entry, first);
    }
    // argv[0] of a program from the PATH is its name alone; here the shell must find the file
    // again.
    command.arguments.front() = command.program;
    out += " " + shell_words(command.arguments) + "\n";
  }
  return out;
}

}  // namespace ddprun
