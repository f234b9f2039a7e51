#include "launcher/commands/command_line.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "launcher/commands/man_page.hpp"
#include "launcher/commands/subcommands.hpp"
#include "launcher/commands/version.hpp"
#include "launcher/environments/batch_job.hpp"
#include "launcher/environments/cluster_env.hpp"
#include "launcher/settings/arguments.hpp"
#include "launcher/settings/interpret.hpp"
#include "launcher/settings/shell_completion.hpp"

namespace ddprun {

namespace {

/// Returns the line on what the scheduler says. It may leave the number of nodes to the user,
/// and then says nothing of a meeting that the user has chosen.
std::string news_of(ClusterPlace place, const LaunchSpec& spec) {
  if (!place.problem.empty()) return "";
  if (place.nodes > 0) return describe(place);
  place.nodes = spec.terms.nodes_max;
  const bool chosen = place.nodes > 1 && spec.meeting.coordinator.host != place.first_host;
  return chosen ? "" : describe(place);
}

/// Reads a job on this node, which was started as `place` says.
Result<CommandLine> interpret_at(const MeetingPlace& place, const Arguments& arguments,
                                 const LocalSystem& system) {
  auto launch = interpret(arguments, system, place);
  if (!launch) return launch.error();
  if (place.cluster && !arguments.settings.on("standalone"))
    launch->cluster = news_of(*place.cluster, launch->spec);
  return CommandLine{std::move(*launch)};
}

/// Leaves of the CPUs and GPUs those that the scheduler grants.
LocalSystem granted(const LocalSystem& all) {
  LocalSystem granted = all;
  granted.cpus = [all] { return granted_cpus(all.environment, all.cpus()); };
  granted.gpus = [all] { return granted_gpus(all.environment, all.gpus()); };
  return granted;
}

/// Reads a job of a batch script, which is on all nodes of the allocation or on this one alone.
Result<CommandLine> interpret_in(const Allocation& allocation, const Arguments& arguments,
                                 const std::vector<std::string>& words, const LocalSystem& system) {
  auto start = step_start(allocation, arguments.settings, words);
  if (!start) return start.error();
  ClusterPlace place = batch_place(allocation);
  if (*start) {  // report a mistake in the command line here, once, rather than on every node
    place.nodes = (*start)->nodes;
    place.first_host = "localhost";
    place.port = kC10dPort;
  }
  auto job = interpret_at({place, {}}, arguments, system);
  if (!job || !*start) return job;
  (*start)->dry_run = arguments.settings.on("dry-run");
  return CommandLine{std::move(**start)};
}

/// Reads a job of a PBS or LSF batch script: its nodes are hosts over ssh, if there are several.
/// nullopt: this is no such script, or the job is for this node alone.
Result<std::optional<CommandLine>> interpret_in_batch(const Arguments& arguments,
                                                      const LocalSystem& system) {
  if (stays_on_this_node(arguments.settings)) return std::optional<CommandLine>{};
  const auto batch = batch_hosts(system);
  // A list that cannot be read does not matter to a job on this node alone.
  if (!batch && !arguments.settings["nnodes"].given) return std::optional<CommandLine>{};
  if (!batch) return batch.error();
  if (!*batch) return std::optional<CommandLine>{};
  auto on_hosts = settings_on_hosts(**batch, arguments.settings);
  if (!on_hosts) return on_hosts.error();
  if (!*on_hosts) return std::optional<CommandLine>{};
  Arguments there = arguments;
  there.settings = std::move(**on_hosts);
  auto job = hosts_job(there, system);
  if (!job) return job.error();
  job->warnings.insert(job->warnings.begin(), describe(**batch, job->rules.hosts.size()));
  return std::optional{CommandLine{std::move(*job)}};
}

/// Reads a job for this node. `host` is this node's place where `ddprun --hosts` has started it.
Result<CommandLine> parse_job(const Arguments& arguments, const std::vector<std::string>& words,
                              const LocalSystem& system, const std::optional<HostPlace>& host) {
  const Settings& settings = arguments.settings;
  if (settings.on("no-slurm") || settings.on("no-cluster"))
    return interpret_at({{}, host}, arguments, system);
  const auto place = cluster_place(system);
  const auto allocated = allocation(system);
  if (allocated && !host) return interpret_in(*allocated, arguments, words, granted(system));
  if (!allocated && !place && !host) {
    auto batch = interpret_in_batch(arguments, system);
    if (!batch) return batch.error();
    if (*batch) return std::move(**batch);
  }
  const std::optional<ClusterPlace> cluster = allocated ? batch_place(*allocated) : place;
  return interpret_at({cluster, host}, arguments, granted(system));
}

}  // namespace

Result<CommandLine> parse_command_line(const std::vector<std::string>& arguments,
                                       const LocalSystem& system, const std::string& program) {
  const auto parsed = parse_arguments(arguments, system.environment);
  if (!parsed) return parsed.error();
  const Settings& settings = parsed->settings;
  const bool has_commands = !stands_in_for_torchrun(program);
  const auto commands = has_commands ? command_help() : std::vector<HelpGroup>{};
  if (settings.on("help")) {
    const auto end_of_options = arguments.end() - std::ssize(parsed->script);
    const bool brief = std::find(arguments.begin(), end_of_options, "-h") != end_of_options;
    return CommandLine{JustPrint{brief ? brief_help_text(commands) : help_text(commands)}};
  }
  if (settings.on("version")) return CommandLine{JustPrint{version_text()}};
  if (settings.on("man")) return CommandLine{JustPrint{man_page()}};
  for (const char* option : {"completion", "print-completion"})
    if (settings[option].given)
      return CommandLine{JustPrint{shell_completion(settings[option].text, command_help())}};
  if (names_hosts(settings)) {
    auto job = hosts_job(*parsed, system);
    if (!job) return job.error();
    return CommandLine{std::move(*job)};
  }
  auto job = parse_job(*parsed, arguments, system, std::nullopt);
  if (job || !has_commands || parsed->script.empty() || job.error().kind != Error::Kind::kNotFound)
    return job;
  const std::string command{meant_command(parsed->script.front())};
  if (command.empty()) return job;
  return Error{Error::Kind::kNotFound,
               job.error().message + "; did you mean `ddprun " + command + "`?"};
}

Result<Launch> parse_launch(const std::vector<std::string>& arguments, const LocalSystem& system,
                            const HostPlace& place) {
  const auto parsed = parse_arguments(arguments, system.environment);
  if (!parsed) return parsed.error();
  auto job = parse_job(*parsed, arguments, system, place);
  if (!job) return job.error();
  return std::get<Launch>(std::move(*job));
}

}  // namespace ddprun
