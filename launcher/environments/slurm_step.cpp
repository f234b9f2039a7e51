#include "launcher/environments/slurm_step.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "base/coroutines.hpp"
#include "base/log.hpp"
#include "base/process/child_process.hpp"
#include "base/process/query_process.hpp"
#include "base/process/spawn_pool.hpp"
#include "base/system/own_process.hpp"
#include "launcher/settings/job_secret.hpp"
#include "launcher/settings/program_files.hpp"
#include "launcher/settings/values.hpp"
#include "launcher/settings/words.hpp"
#include "rendezvous/transport/fresh_secret.hpp"

namespace ddprun {

namespace {

using asio::as_tuple;
using asio::use_awaitable;

// srun reads them as its own options (https://slurm.schedmd.com/srun.html, "INPUT ENVIRONMENT
// VARIABLES"). sbatch sets them by the job's options for tasks, but this step has one task a node.
constexpr std::array kTaskVariables{
    "SLURM_NTASKS",          "SLURM_NPROCS",         "SLURM_NTASKS_PER_NODE",
    "SLURM_NTASKS_PER_GPU",  "SLURM_TASKS_PER_NODE", "SLURM_NTASKS_PER_SOCKET",
    "SLURM_NTASKS_PER_CORE", "SLURM_CPUS_PER_TASK",  "SRUN_CPUS_PER_TASK",
    "SLURM_CPUS_PER_GPU",    "SLURM_GPUS_PER_TASK",  "SLURM_GPUS_PER_SOCKET",
    "SLURM_GPU_BIND",        "SLURM_CPU_BIND",       "SLURM_MEM_BIND",
    "SLURM_MEM_PER_CPU",     "SLURM_MEM_PER_GPU",    "SLURM_MEM_PER_NODE",
    "SLURM_TRES_PER_TASK",   "SLURM_DISTRIBUTION",   "SLURM_EXACT",
    "SLURM_KILL_BAD_EXIT",   "SLURM_WAIT",           "SLURM_NO_KILL"};

/// srun hands these on to the tasks. For the others it kills the tasks at once.
constexpr std::array kHandedOn{SIGUSR1, SIGUSR2, SIGALRM};
constexpr std::array kStopping{SIGTERM, SIGINT, SIGHUP, SIGQUIT};

/// Signals the tasks past srun, which would kill them at once.
void signal_step(const std::string& job, const std::string& step_name, int signal) {
  const auto step = step_named(
      step_name, output_of({"squeue", "--noheader", "--steps", "--jobs=" + job, "--format=%i %j"}));
  if (!step) {
    log::warn("{} received: squeue shows no step {} of job {} to hand it on to",
              signal_name(signal), step_name, job);
    return;
  }
  output_of({"scancel", fmt::format("--signal={}", signal), *step});
}

/// Returns the secret that the step's nodes are handed as a text; "": none.
Result<std::string> step_secret(const StepStart& start, const EnvironmentLookup& environment) {
  if (auto given = environment(kSecretVariable); given && !given->empty()) return *given;
  if (!start.makes_secret) return std::string{};
  const auto fresh = fresh_secret();
  if (!fresh) return fresh.error();
  return to_text(*fresh);
}

/// flux hands on signals, and ends as the tasks do: there is nothing left to do beside it.
Error become_flux(const std::string& flux, const StepStart& start, const std::string& secret) {
  if (!secret.empty()) setenv(kSecretVariable, secret.c_str(), 1);
  const std::vector<std::string> words = flux_command(start, own_path());
  std::signal(SIGPIPE, SIG_DFL);
  execv(flux.c_str(), pointers_to(words).data());
  return {Error::Kind::kDenied, "cannot start '" + flux + "': " + std::strerror(errno)};
}

bool uses_flux(const Allocation& allocation) {
  return allocation.starter == Allocation::Starter::kFlux;
}

class Step {
 public:
  Step(asio::io_context& io, const StepStart& start, std::string name)
      : job_{start.allocation.job}, name_{std::move(name)}, pool_{1}, signals_{io} {
    for (const int signal : kHandedOn) signals_.add(signal);
    for (const int signal : kStopping) signals_.add(signal);
  }

  Result<int> run(asio::io_context& io, Command command) {
    auto started = ChildProcess::spawn(io.get_executor(), pool_, {{std::move(command), {}}});
    if (!started.front()) return started.front().error();
    srun_.emplace(std::move(*started.front()));
    start_coroutine(io, hand_on_signals(), report_failure("handing on signals"));
    std::optional<ExitStatus> ended;
    const auto end = [&](ExitStatus status) { ended = status; };
    start_coroutine(io, then(srun_->wait(), end), report_failure("waiting for srun"));
    while (!ended) io.run_one();
    signals_.cancel();
    io.poll();
    return ended->shell_code();
  }

 private:
  asio::awaitable<void> hand_on_signals() {
    for (;;) {
      const auto [error, signal] = co_await signals_.async_wait(as_tuple(use_awaitable));
      if (error) co_return;
      if (std::ranges::count(kHandedOn, signal) > 0)
        srun_->signal(signal);
      else
        signal_step(job_, name_, signal);
    }
  }

  std::string job_;
  std::string name_;
  SpawnPool pool_;
  asio::signal_set signals_;
  std::optional<ChildProcess> srun_;
};

}  // namespace

Result<std::optional<StepStart>> step_start(const Allocation& allocation, const Settings& settings,
                                            const std::vector<std::string>& words) {
  if (allocation.nodes == 1 || settings.on("standalone") || settings["node-rank"].given)
    return {std::nullopt};
  StepStart start{allocation, allocation.nodes, false, words};
  start.makes_secret = !settings["secret-file"].given && !wants_open_store(settings);
  const Setting& wanted = settings["nnodes"];
  if (!wanted.given) return {start};
  const auto nodes = parse_nodes(wanted);
  if (!nodes) return nodes.error();
  if (nodes->max == 1) return {std::nullopt};
  if (nodes->min > allocation.nodes)
    return unexpected(wanted, fmt::format("{} has {} nodes: ask {} for --nodes={}", allocation.by,
                                          allocation.nodes,
                                          uses_flux(allocation) ? "flux" : "sbatch", nodes->min));
  const bool elastic = wanted.text.find(':') != std::string::npos;  // nodes beyond MAX are spares
  if (!elastic) start.nodes = nodes->max;
  start.no_kill = nodes->min < nodes->max || start.nodes > nodes->max;
  return {start};
}

std::vector<std::string> srun_command(const StepStart& start, const std::string& ddprun,
                                      const std::string& step_name) {
  std::vector<std::string> command{"srun",
                                   fmt::format("--nodes={}", start.nodes),
                                   fmt::format("--ntasks={}", start.nodes),
                                   "--ntasks-per-node=1",
                                   "--cpu-bind=none",
                                   "--mem=0",
                                   "--export=ALL",
                                   "--kill-on-bad-exit=0",
                                   "--wait=0",
                                   "--job-name=" + step_name};
  if (start.no_kill) command.push_back("--no-kill");
  command.push_back(ddprun);
  std::ranges::copy(start.words, std::back_inserter(command));
  return command;
}

std::vector<std::string> srun_environment(std::vector<std::string> entries,
                                          const std::string& secret) {
  std::erase_if(entries, [](const std::string& entry) {
    const std::string_view name{entry.data(), std::min(entry.find('='), entry.size())};
    return std::ranges::count(kTaskVariables, name) > 0;
  });
  if (!secret.empty()) entries.push_back(std::string{kSecretVariable} + "=" + secret);
  return entries;
}

std::optional<std::string> step_named(std::string_view name, const std::string& squeue_output) {
  std::istringstream lines{squeue_output};
  for (std::string id, step; lines >> id >> step;)
    if (step == name) return id;
  return std::nullopt;
}

std::vector<std::string> flux_command(const StepStart& start, const std::string& ddprun) {
  std::vector<std::string> command{"flux",
                                   "run",
                                   fmt::format("--nodes={}", start.nodes),
                                   "--tasks-per-node=1",
                                   "--exclusive",
                                   "-ocpu-affinity=off",
                                   "-ogpu-affinity=off",
                                   ddprun};
  std::ranges::copy(start.words, std::back_inserter(command));
  return command;
}

std::string dry_run(const StepStart& start) {
  return shell_words(uses_flux(start.allocation) ? flux_command(start, own_path())
                                                 : srun_command(start, own_path(), "ddprun")) +
         "\n";
}

Result<int> run_step(asio::io_context& io, const StepStart& start,
                     const EnvironmentLookup& environment, Console& err) {
  const std::string starter = uses_flux(start.allocation) ? "flux" : "srun";
  auto program = find_program(starter, environment);
  if (!program)
    return Error{program.error().kind, program.error().message + ", to start ddprun on " +
                                           std::to_string(start.nodes) +
                                           " nodes; --no-cluster goes without it"};
  const auto secret = step_secret(start, environment);
  if (!secret) return secret.error();
  log::warn("{}: starting on {} nodes by {}", start.allocation.by, start.nodes,
            uses_flux(start.allocation) ? "flux run" : "srun");
  // The next program writes there itself, or takes the place of this one.
  err.flush_blocking();
  if (uses_flux(start.allocation)) return become_flux(*program, start, *secret);
  const std::string name = "ddprun-" + std::to_string(getpid());
  Step step{io, start, name};
  return step.run(io, {.program = std::move(*program),
                       .arguments = srun_command(start, own_path(), name),
                       .environment = srun_environment(own_environment(), *secret)});
}

}  // namespace ddprun
