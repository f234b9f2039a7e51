#include "launcher/slurm/slurm_step.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <spdlog/fmt/fmt.h>
#include <spdlog/spdlog.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <sstream>

#include "agent/child_process.hpp"
#include "agent/spawn_pool.hpp"
#include "base/clock.hpp"
#include "base/linux_calls.hpp"
#include "base/own_process.hpp"
#include "base/report_failure.hpp"
#include "launcher/settings/dry_run.hpp"
#include "launcher/settings/find_program.hpp"
#include "launcher/settings/job_secret.hpp"
#include "launcher/settings/values.hpp"
#include "rendezvous/wire/fresh_secret.hpp"

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

constexpr std::size_t kOutputBytesMax = 1 << 20;
constexpr std::chrono::seconds kAnswerTimeout{30};  // of squeue and scancel

/// Starts a program whose standard output is `out`. No shell reads the words, which come from the
/// environment and from Slurm. Returns its process id, or -1.
pid_t start_with_output(const std::vector<std::string>& words, int out) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  pid_t pid = -1;
  if (posix_spawnp(&pid, arguments[0], &actions, nullptr, arguments.data(), environ) != 0) pid = -1;
  posix_spawn_file_actions_destroy(&actions);
  return pid;
}

/// Waits until there is something to read, or the end. Returns false when `deadline` comes first.
bool readable(int fd, TimePoint deadline) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    pollfd wait{fd, POLLIN, 0};
    const int ready = poll(&wait, 1, static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
    if (ready >= 0 || errno != EINTR) return ready > 0;
  }
}

std::string read_all(int fd, TimePoint deadline) {
  std::string output;
  std::array<char, 4096> buffer{};
  while (output.size() < kOutputBytesMax && readable(fd, deadline)) {
    const ssize_t got = read(fd, buffer.data(), buffer.size());
    if (got <= 0) break;
    output.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return output;
}

/// Returns what a program prints, even if it fails then. It is killed when it takes too long.
std::string output_of(const std::vector<std::string>& words) {
  const TimePoint deadline = Clock::now() + kAnswerTimeout;
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return "";
  const pid_t pid = start_with_output(words, ends[1]);
  close(ends[1]);
  std::string output = read_all(ends[0], deadline);
  close(ends[0]);
  if (pid <= 0) return output;
  const int pidfd = watch_child(pid);
  if (pidfd < 0 || !readable(pidfd, deadline)) kill(pid, SIGKILL);
  if (pidfd >= 0) close(pidfd);
  waitpid(pid, nullptr, 0);
  return output;
}

/// Signals the tasks past srun, which would kill them at once.
void signal_step(const std::string& job, const std::string& step_name, int signal) {
  const auto step = step_named(
      step_name, output_of({"squeue", "--noheader", "--steps", "--jobs=" + job, "--format=%i %j"}));
  if (!step) {
    spdlog::warn("{} received: squeue shows no step {} of job {} to hand it on to",
                 signal_name(signal), step_name, job);
    return;
  }
  output_of({"scancel", fmt::format("--signal={}", signal), *step});
}

/// Returns the secret that the step's nodes are handed as a text; "": none.
Result<std::string> step_secret(const SlurmStart& start, const EnvironmentLookup& environment) {
  if (auto given = environment(kSecretVariable); given && !given->empty()) return *given;
  if (!start.makes_secret) return std::string{};
  const auto fresh = fresh_secret();
  if (!fresh) return fresh.error();
  return to_text(*fresh);
}

class Step {
 public:
  Step(asio::io_context& io, const SlurmStart& start, std::string name)
      : job_{start.allocation.job}, name_{std::move(name)}, pool_{1}, signals_{io} {
    for (const int signal : kHandedOn) signals_.add(signal);
    for (const int signal : kStopping) signals_.add(signal);
  }

  Result<int> run(asio::io_context& io, Command command) {
    auto started = ChildProcess::spawn(io.get_executor(), pool_, {{std::move(command), {}}});
    if (!started.front()) return started.front().error();
    srun_.emplace(std::move(*started.front()));
    co_spawn(io, hand_on_signals(), report_failure("handing on signals"));
    std::optional<ExitStatus> ended;
    co_spawn(io, srun_->wait(), [&](const std::exception_ptr& failure, ExitStatus status) {
      report_failure("waiting for srun")(failure);
      ended = status;
    });
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

Result<std::optional<SlurmStart>> slurm_start(const SlurmAllocation& allocation,
                                              const Settings& settings,
                                              const std::vector<std::string>& words) {
  if (allocation.nodes == 1 || settings.on("standalone") || settings["node-rank"].given)
    return {std::nullopt};
  SlurmStart start{allocation, allocation.nodes, false, words};
  start.makes_secret = !settings["secret-file"].given && !wants_open_store(settings);
  const Setting& wanted = settings["nnodes"];
  if (!wanted.given) return {start};
  const auto nodes = parse_nodes(wanted);
  if (!nodes) return nodes.error();
  if (nodes->max == 1) return {std::nullopt};
  if (nodes->min > allocation.nodes)
    return unexpected(wanted, fmt::format("Slurm job {} has {} nodes: ask sbatch for --nodes={}",
                                          allocation.job, allocation.nodes, nodes->min));
  const bool elastic = wanted.text.find(':') != std::string::npos;  // nodes beyond MAX are spares
  if (!elastic) start.nodes = nodes->max;
  start.no_kill = nodes->min < nodes->max || start.nodes > nodes->max;
  return {start};
}

std::vector<std::string> srun_command(const SlurmStart& start, const std::string& ddprun,
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

std::string dry_run(const SlurmStart& start) {
  std::string line;
  for (const std::string& word : srun_command(start, own_path(), "ddprun"))
    line += (line.empty() ? "" : " ") + shell_word(word);
  return line + "\n";
}

Result<int> run_slurm_step(asio::io_context& io, const SlurmStart& start,
                           const EnvironmentLookup& environment) {
  auto srun = find_program("srun", environment);
  if (!srun)
    return Error{srun.error().kind, srun.error().message + ", to start ddprun on " +
                                        std::to_string(start.nodes) +
                                        " nodes; --no-slurm goes without Slurm"};
  const auto secret = step_secret(start, environment);
  if (!secret) return secret.error();
  spdlog::warn("Slurm job {}: starting on {} nodes by srun", start.allocation.job, start.nodes);
  const std::string name = "ddprun-" + std::to_string(getpid());
  Step step{io, start, name};
  return step.run(io, {.program = std::move(*srun),
                       .arguments = srun_command(start, own_path(), name),
                       .environment = srun_environment(own_environment(), *secret)});
}

}  // namespace ddprun
