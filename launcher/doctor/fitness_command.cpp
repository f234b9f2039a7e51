#include "launcher/doctor/fitness_command.hpp"

#include "agent/output/console.hpp"
#include "base/process/process_facts.hpp"
#include "base/system/own_process.hpp"
#include "launcher/doctor/fitness.hpp"
#include "launcher/doctor/gather.hpp"
#include "launcher/options/command_options.hpp"
#include "launcher/settings/gpus.hpp"
#include "launcher/settings/this_machine.hpp"

namespace ddprun {

namespace {

struct FitnessQuestion {
  pid_t agent = 0;  // its process
  int workers = 1;  // that this node will have
  bool workers_live = false;
  std::string log_dir;
  std::vector<std::string> folders;
};

bool is_descendant_of(pid_t pid, pid_t ancestor) {
  while (pid > 1 && pid != ancestor) {
    const auto facts = read_process(pid);
    pid = facts ? facts->parent : 0;
  }
  return pid == ancestor;
}

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
      if (is_descendant_of(static_cast<pid_t>(process.pid), question.agent))
        job.pids.insert(process.pid);
  return job;
}

}  // namespace

Result<int> look_at_fitness(const std::vector<std::string>& words, const Stage& stage) {
  FitnessQuestion question;
  CommandOptions command{"Says whether this node is fit for the next round of a job.",
                         "ddprun doctor"};
  bool asked = false;  // it is, or nobody would be here
  command.flag(kFitnessWord, asked, "");
  command.option("--agent", question.agent, "INT", "");
  command.option("--workers", question.workers, "INT", "");
  command.flag("--workers-live", question.workers_live, "");
  command.option("--log-dir", question.log_dir, "TEXT", "");
  command.option("--folder", question.folders, "TEXT", "");
  if (const auto done = command.parse(words, stage.out)) return *done;
  const Surroundings surroundings = this_machine(own_variable);
  FitnessReading reading = read_for_fitness(question.log_dir, question.folders, surroundings);
  const JobGpus job = gpus_of_job(reading.node, question, surroundings.environment);
  NodeFitness fitness = fitness_of(std::move(reading.node), job);
  if (fitness.state == NodeFitness::State::kFit && reading.gpus_are_late)
    fitness = {NodeFitness::State::kUnknown, "NVIDIA's driver has not answered within 5 s", ""};
  stage.out.write(to_lines(fitness));
  return 0;
}

}  // namespace ddprun
