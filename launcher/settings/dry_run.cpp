#include "launcher/settings/dry_run.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "base/number_list.hpp"

namespace ddprun {

namespace {

// These stand for what only a real run knows.
constexpr char kAnyFreePort[] = "<any free port>";
constexpr char kRunDirectory[] = "<run directory>";
constexpr char kFreshId[] = "<fresh id>";

/// Only the first round of a job can be foreseen, and only with this node alone.
StartRound first_round(const LaunchSpec& spec) {
  const bool local = spec.rules.store == StoreAt::kLocal;
  return {.round = 1,
          .world_size = spec.workers,
          .role_world_size = spec.workers,
          .master_addr = local ? "127.0.0.1" : spec.meeting.coordinator.host,
          .master_port = local ? 0 : spec.meeting.coordinator.port};
}

std::string assignment(const std::string& entry) {
  const std::size_t equals = entry.find('=');
  return entry.substr(0, equals + 1) + shell_word(entry.substr(equals + 1));
}

}  // namespace

std::string shell_word(const std::string& text) {
  const auto is_plain = [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view{"%+,-./:=@_"}.find(static_cast<char>(c)) != std::string_view::npos;
  };
  if (!text.empty() && std::ranges::all_of(text, is_plain)) return text;
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string{"'\\''"} : std::string{c};
  return out + "'";
}

std::string shell_words(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + shell_word(word);
  return line;
}

std::string dry_run(const LaunchSpec& spec, NodeFacts node) {
  node.run.run_id = spec.meeting.run_id.empty() ? kFreshId : spec.meeting.run_id;
  if (!spec.logs.no_files) node.run_directory = kRunDirectory;
  const std::set<std::string> ours{node.environment.begin(), node.environment.end()};
  std::vector<Command> commands = plan_workers(spec, first_round(spec), node);
  std::string out;
  for (std::size_t local_rank = 0; local_rank < commands.size(); ++local_rank) {
    Command& command = commands[local_rank];
    out += fmt::format("# rank {}", local_rank);
    if (!command.placement.cpus.empty())
      out += fmt::format(", CPUs {}, memory of NUMA node {}",
                         format_number_list(command.placement.cpus),
                         format_number_list(command.placement.memory_nodes));
    out += "\nenv";
    for (const std::string& entry : command.environment) {
      if (ours.contains(entry)) continue;
      out += " " + (entry == "MASTER_PORT=0" ? "MASTER_PORT=" + shell_word(kAnyFreePort)
                                             : assignment(entry));
    }
    // argv[0] of a program from the PATH is its name alone; here the shell must find the file
    // again.
    command.arguments.front() = command.program;
    out += " " + shell_words(command.arguments) + "\n";
  }
  return out;
}

}  // namespace ddprun
