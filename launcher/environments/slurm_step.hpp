// In a Slurm batch script, outside of any job step, ddprun starts itself on all nodes of the
// allocation by one `srun`, hands on signals, and ends as that step ends. In an instance of Flux it
// becomes `flux run`, which does the same by itself.
#pragma once

#include <boost/asio/io_context.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/output/console.hpp"
#include "launcher/environments/cluster_env.hpp"
#include "launcher/settings/arguments.hpp"

namespace ddprun {

/// The step that is to be started.
struct StepStart {
  Allocation allocation;
  int nodes = 1;                   // nodes of the allocation that run ddprun
  bool no_kill = false;            // true: the step outlives a node
  std::vector<std::string> words;  // the command line, without the program's own name
  bool dry_run = false;
  bool makes_secret = true;  // false: the nodes read one from a file, or shall have none
};

/// Decides whether a step is to be started. nullopt: the command line is about this node alone, or
/// the user starts the others. Errors: kInvalid, when the allocation has too few nodes.
Result<std::optional<StepStart>> step_start(const Allocation& allocation, const Settings& settings,
                                            const std::vector<std::string>& words);

/// Returns the argv of the srun that runs `ddprun` (a path), one a node, with all that the
/// allocation has there.
std::vector<std::string> srun_command(const StepStart& start, const std::string& ddprun,
                                      const std::string& step_name);

/// Returns the argv of the `flux run` that does so.
std::vector<std::string> flux_command(const StepStart& start, const std::string& ddprun);

/// Returns `entries` without those variables by which sbatch's options for tasks would become the
/// step's, and with the job's secret, "": none.
std::vector<std::string> srun_environment(std::vector<std::string> entries,
                                          const std::string& secret);

/// Returns the id of the step of that name in the output of `squeue --steps --format "%i %j"`.
std::optional<std::string> step_named(std::string_view name, const std::string& squeue_output);

/// Returns the command, for a shell.
std::string dry_run(const StepStart& start);

/// Runs the step, whose nodes get a secret through the environment: that of this ddprun, or else
/// a fresh one if it makes one. Returns the exit code of srun or flux, which is the highest of the
/// nodes', and which writes to ddprun's own streams: `err` is emptied before. Errors: kNotFound
/// without that program, kUnavailable without a secret.
Result<int> run_step(boost::asio::io_context& io, const StepStart& start,
                     const EnvironmentLookup& environment, Console& err);

}  // namespace ddprun
