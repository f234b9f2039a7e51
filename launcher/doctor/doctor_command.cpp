#include "launcher/doctor/doctor_command.hpp"

#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "agent/output/console.hpp"
#include "base/log.hpp"
#include "base/process/process_facts.hpp"
#include "base/system/fresh_names.hpp"
#include "base/system/own_process.hpp"
#include "launcher/doctor/ask/chosen_hosts.hpp"
#include "launcher/doctor/ask/examine_hosts.hpp"
#include "launcher/doctor/ask/examine_node.hpp"
#include "launcher/doctor/check/checks.hpp"
#include "launcher/doctor/check/fitness.hpp"
#include "launcher/doctor/doctor_report.hpp"
#include "launcher/doctor/read/gather.hpp"
#include "launcher/doctor/read/reading.hpp"
#include "launcher/options/command_options.hpp"
#include "launcher/run/node_fitness.hpp"
#include "launcher/run/terminal.hpp"
#include "launcher/settings/gpus.hpp"
#include "launcher/settings/program.hpp"
#include "launcher/settings/this_machine.hpp"
#include "launcher/settings/values.hpp"

namespace ddprun {

namespace {

struct FitnessQuestion {
  pid_t agent = 0;  // its process
  int workers = 1;  // that this node will have
  bool workers_live = false;
  std::string log_dir;
  std::vector<std::string> folders;
};

JobGpus gpus_of_job(const NodeReading& reading, const FitnessQuestion& question,
                    const EnvironmentLookup& environment) {
  JobGpus job{.workers_live = question.workers_live};
  const auto listed = listed_gpus(environment);
  job.hidden = listed && listed->empty();
  if (!reading.gpus) return job;
  const std::vector<GpuReading>& gpus = reading.gpus->gpus;
  job.indices =
      visible_indices(environment, reading.gpus->present.value_or(static_cast<int>(gpus.size())));
  if (job.indices.size() > static_cast<std::size_t>(question.workers))
    job.indices.resize(static_cast<std::size_t>(question.workers));
  for (const GpuReading& gpu : gpus)
    for (const GpuProcess& process : gpu.processes)
      if (std::ranges::count(read_lineage(static_cast<pid_t>(process.pid)), question.agent) > 0)
        job.pids.insert(process.pid);
  return job;
}

}  // namespace

Result<int> look_at_fitness(const std::vector<std::string>& words, const CommandContext& context) {
  FitnessQuestion question;
  CommandOptions command{"Says whether this node is fit for the next round of a job.",
                         "ddprun doctor"};
  bool asked = false;  // it is, or this would not run
  command.flag(kFitnessWord, asked, "");
  command.option("--agent", question.agent, "INT", "");
  command.option("--workers", question.workers, "INT", "");
  command.flag("--workers-live", question.workers_live, "");
  command.option("--log-dir", question.log_dir, "TEXT", "");
  command.option("--folder", question.folders, "TEXT", "");
  if (const auto done = command.parse(words, context.out)) return *done;
  const LocalSystem system = this_machine(own_variable);
  FitnessReading reading = read_for_fitness(question.log_dir, question.folders, system);
  const JobGpus job = gpus_of_job(reading.node, question, system.environment);
  NodeFitness fitness = fitness_of(std::move(reading.node), job);
  if (fitness.state == NodeFitness::State::kFit && reading.gpus_are_late)
    fitness = {NodeFitness::State::kUnknown, "NVIDIA's driver has not answered within 5 s", ""};
  context.out.write(to_lines(fitness));
  return 0;
}

namespace {

struct DoctorOptions {
  ReadingOptions reading;
  std::string checkpoints;  // as the job's option has it
  HostOptions where;
  bool bench = false;
  bool json = false;
  bool verbose = false;
};

/// What was found out about one node or several.
struct Diagnosis {
  std::vector<std::string> nodes;  // in the order of the report
  std::vector<NodeReading> readings;
  Findings findings;
  std::optional<Measurements> measured;
};

Diagnosis examine_this_node(const DoctorOptions& options, const LocalSystem& system) {
  NodeReading reading = read_this_node(options.reading, system);
  Findings findings = check_node(reading, true);
  std::optional<Measurements> measured;
  if (options.bench) {
    measured.emplace().nodes.push_back(measure_until_sure(reading));
    append(check_measurements(*measured), findings);
  }
  return {{reading.node}, {std::move(reading)}, std::move(findings), std::move(measured)};
}

std::string folder_of_job(const DoctorOptions& options, const LocalSystem& system) {
  return options.where.remote_dir.empty() ? system.working_directory() : options.where.remote_dir;
}

/// The folder on disk of --checkpoints is looked at like that of --checkpoint-dir.
Result<void> read_checkpoints(DoctorOptions& options, const LocalSystem& system) {
  if (options.checkpoints.empty()) return {};
  if (!options.reading.checkpoint_dir.empty())
    return invalid("ddprun doctor: --checkpoints and --checkpoint-dir exclude each other");
  const Setting setting{.text = options.checkpoints, .source = "--checkpoints", .given = true};
  const auto spec = parse_checkpoints(setting, [&] { return folder_of_job(options, system); });
  if (!spec) return spec.error();
  options.reading.checkpoint_dir = (*spec)->disk;
  options.reading.keeps_checkpoints = true;
  return {};
}

/// As in a job with --hosts, Python is the one that the user has here.
Examine examine_as_here(const DoctorOptions& options, const LocalSystem& system) {
  Examine examine{.log_dir = options.reading.log_dir,
                  .checkpoint_dir = options.reading.checkpoint_dir,
                  .keeps_checkpoints = options.reading.keeps_checkpoints,
                  .script = options.reading.script,
                  .directory = folder_of_job(options, system),
                  .token = fresh_id()};
  examine.environment = python_variables(system.environment);
  return examine;
}

Diagnosis examine_all(const ChosenHosts& chosen, const DoctorOptions& options,
                      const LocalSystem& system) {
  HostsExamination examined =
      examine_hosts(chosen.hosts, chosen.reach, examine_as_here(options, system), options.bench);
  Diagnosis diagnosis;
  for (const Host& host : chosen.hosts) diagnosis.nodes.push_back(host.label());
  append(std::move(examined.unreached), diagnosis.findings);
  for (const NodeReading& reading : examined.readings)
    append(check_node(reading, chosen.hosts.size() == 1), diagnosis.findings);
  append(compare_nodes(examined.readings), diagnosis.findings);
  append(check_links(examined.readings), diagnosis.findings);
  append(check_peer_names(examined.readings), diagnosis.findings);
  if (examined.measured) append(check_measurements(*examined.measured), diagnosis.findings);
  diagnosis.measured = std::move(examined.measured);
  if (std::ranges::count(diagnosis.findings, kAllNodes, &Finding::node) > 0)
    diagnosis.nodes.emplace_back(kAllNodes);
  diagnosis.readings = std::move(examined.readings);
  return diagnosis;
}

Result<int> examine(DoctorOptions options, const CommandContext& context) {
  const LocalSystem system = this_machine(own_variable);
  if (const auto read = read_checkpoints(options, system); !read) return read.error();
  const auto chosen = choose_hosts(options.where, system);
  if (!chosen) return chosen.error();
  if (!chosen->by.empty())
    log::warn("{}: looking at {} nodes by {}; --no-cluster looks at this one", chosen->by,
              chosen->hosts.size(), chosen->reach.srun.empty() ? "ssh" : "srun");
  const Diagnosis diagnosis = chosen->hosts.empty() ? examine_this_node(options, system)
                                                    : examine_all(*chosen, options, system);
  const ReportStyle style{.color = wants_color(STDOUT_FILENO),
                          .verbose = options.verbose,
                          .columns = std::min(terminal_columns(STDOUT_FILENO, 80), 120)};
  context.out.write(options.json
                        ? report_json(diagnosis.readings, diagnosis.findings, diagnosis.measured)
                        : report_text(diagnosis.nodes, diagnosis.findings, style));
  return count_of(diagnosis.findings, Severity::kFailed) > 0 ? 1 : 0;
}

void declare_hosts(CommandOptions& command, HostOptions& where) {
  command.option("--hosts", where.hosts, "HOST,...",
                 "look at these hosts, by ssh, and compare them", {.variable = "PET_HOSTS"});
  command.option("--hostfile", where.hostfile, "FILE", "hosts from a file, as for a job",
                 {.variable = "PET_HOSTFILE"});
  command.option("--ssh-cmd", where.ssh, "COMMAND", "the command that runs another one on a host",
                 {.variable = "PET_SSH_CMD"});
  command.option("--remote-path", where.remote_path, "PATH",
                 "path of ddprun on the hosts; by default the same as here",
                 {.variable = "PET_REMOTE_PATH"});
  command.option("--remote-dir", where.remote_dir, "DIR",
                 "working directory on the hosts; by default the same as here",
                 {.variable = "PET_REMOTE_DIR"});
  command.flag("--no-cluster", where.no_cluster,
               "in an allocation of Slurm, PBS or LSF: look at this node alone");
}

}  // namespace

Result<int> run_doctor(const std::vector<std::string>& words, const CommandContext& context) {
  if (words == std::vector<std::string>{"--node"}) return examine_for_launcher();
  if (!words.empty() && words.front() == kFitnessWord) return look_at_fitness(words, context);
  DoctorOptions options;
  CommandOptions command{
      "Says what would make a job fail on this node or on several, before it starts: Python and "
      "torch, GPUs and their driver, memory, disks, limits, names and the network. Exit code: 0, "
      "or 1 when a check has failed.",
      "ddprun doctor"};
  command.argument("SCRIPT", options.reading.script, "a script, whose imports are looked for, too");
  command.option("--log-dir", options.reading.log_dir, "DIR",
                 "the folder that the job writes its logs to");
  command.option("--checkpoint-dir", options.reading.checkpoint_dir, "DIR",
                 "the folder that the job writes its checkpoints to");
  command.option("--checkpoints", options.checkpoints, "FOLDER=DIR",
                 "as for a job: DIR is that folder, and memory should hold checkpoints");
  declare_hosts(command, options.where);
  command.flag("--bench", options.bench,
               "measure CPUs, memory and the network between hosts, and compare them");
  command.flag("-v,--verbose", options.verbose, "show also what is well");
  command.flag("--json", options.json, "print all findings, and what was read, as JSON");
  command.examples(
      "ddprun doctor\n"
      "ddprun doctor --hosts h1,h2 --checkpoint-dir /shared/run7 train.py\n"
      "ddprun doctor --hosts h1,h2,h3 --bench");
  if (const auto done = command.parse(words, context.out)) return *done;
  return examine(std::move(options), context);
}

}  // namespace ddprun
