#include "launcher/commands/command_line.hpp"

#include <utility>

#include "launcher/commands/man_page.hpp"
#include "launcher/settings/arguments.hpp"
#include "launcher/settings/gpus.hpp"
#include "launcher/settings/interpret.hpp"
#include "launcher/settings/shell_completion.hpp"
#include "launcher/slurm/cluster_env.hpp"

namespace ddprun {

namespace {

/// As one of those that a scheduler has started.
Result<Launch> interpret_at(const ClusterPlace& place, Arguments arguments,
                            const Surroundings& surroundings) {
  auto meeting = take_from_cluster(place, arguments.settings);
  if (!meeting) return meeting.error();
  auto launch = interpret(arguments, surroundings, std::move(*meeting));
  if (launch) launch->cluster = describe(place);
  return launch;
}

/// What the scheduler grants of what is there.
Surroundings granted(const Surroundings& all) {
  return {all.environment, [all] { return granted_cpus(all.environment, all.cpus()); },
          [all] { return granted_gpus(all.environment, all.gpus()); }};
}

/// In the batch script: on all nodes of the allocation, or on this one alone.
Result<CommandLine> interpret_in(const SlurmAllocation& allocation, const Arguments& arguments,
                                 const std::vector<std::string>& words,
                                 const Surroundings& surroundings) {
  auto start = slurm_start(allocation, arguments.settings, words);
  if (!start) return start.error();
  ClusterPlace place = batch_place(allocation);
  if (*start) {  // what is wrong with the command line is said here, once
    place.nodes = (*start)->nodes;
    place.first_host = "localhost";
    place.port = kC10dPort;
  }
  auto launch = interpret_at(place, arguments, surroundings);
  if (!launch) return launch.error();
  if (!*start) return CommandLine{std::move(*launch)};
  (*start)->dry_run = launch->dry_run;
  return CommandLine{std::move(**start)};
}

Result<CommandLine> parse_job(const Arguments& arguments, const std::vector<std::string>& words,
                              const Surroundings& surroundings) {
  const Surroundings ours =
      arguments.settings.on("no-slurm") ? surroundings : granted(surroundings);
  if (!arguments.settings.on("no-slurm")) {
    const auto place = cluster_place(surroundings.environment);
    if (!place) return place.error();
    const auto allocation = slurm_allocation(surroundings.environment);
    if (allocation) return interpret_in(*allocation, arguments, words, ours);
    if (*place) {
      auto launch = interpret_at(**place, arguments, ours);
      if (!launch) return launch.error();
      return CommandLine{std::move(*launch)};
    }
  }
  auto launch = interpret(arguments, ours, std::nullopt);
  if (!launch) return launch.error();
  return CommandLine{std::move(*launch)};
}

}  // namespace

Result<CommandLine> parse_command_line(const std::vector<std::string>& arguments,
                                       const Surroundings& surroundings) {
  const auto parsed = parse_arguments(arguments, surroundings.environment);
  if (!parsed) return parsed.error();
  const Settings& settings = parsed->settings;
  if (settings.on("help")) return CommandLine{JustPrint{help_text()}};
  if (settings.on("version")) return CommandLine{JustPrint{"ddprun " DDPRUN_VERSION "\n"}};
  if (settings.on("man")) return CommandLine{JustPrint{man_page()}};
  if (settings["completion"].given)
    return CommandLine{JustPrint{shell_completion(settings["completion"].text)}};
  if (names_hosts(settings)) {
    auto job = hosts_job(*parsed, surroundings.environment);
    if (!job) return job.error();
    return CommandLine{std::move(*job)};
  }
  return parse_job(*parsed, arguments, surroundings);
}

Result<Launch> parse_launch(const std::vector<std::string>& arguments,
                            const Surroundings& surroundings) {
  auto parsed = parse_command_line(arguments, surroundings);
  if (!parsed) return parsed.error();
  if (auto* const launch = std::get_if<Launch>(&*parsed)) return std::move(*launch);
  return invalid("this command line is about no job");
}

}  // namespace ddprun
