#include "launcher/run/run.hpp"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "agent/agent.hpp"
#include "agent/failure_report.hpp"
#include "agent/file_limit.hpp"
#include "agent/guardian.hpp"
#include "agent/machine_topology.hpp"
#include "agent/usable_cpus.hpp"
#include "base/fresh_id.hpp"
#include "base/own_process.hpp"
#include "base/report_failure.hpp"
#include "launcher/run/coordinator_host.hpp"
#include "launcher/run/exit_code.hpp"
#include "launcher/run/run_directory.hpp"
#include "launcher/run/signal_hold.hpp"
#include "launcher/settings/gpus.hpp"
#include "rendezvous/rounds/server.hpp"

namespace ddprun {

namespace {

using namespace std::chrono_literals;

/// What is left to say on open connections once the job is over takes no longer.
constexpr auto kGoodbyeTimeout = 2s;

constexpr std::size_t kFilesPerWorker = 3;       // its two streams and its pidfd
constexpr std::size_t kStoreFilesPerWorker = 4;  // its connections, with --store local

std::size_t files_for_workers(const LaunchSpec& spec) {
  const bool local = spec.rules.store == StoreAt::kLocal;
  return (kFilesPerWorker + (local ? kStoreFilesPerWorker : 0)) *
         static_cast<std::size_t>(spec.workers);
}

/// The first failure is the job's; the others are this node's, without that one.
FailedJob failed_job(const EndJob& job, const std::string& title, const RoundOutcome& outcome) {
  FailedJob failed{title, *job.failure, job.restarts + 1, {}, outcome.stopped};
  for (const WorkerFailure& other : outcome.failures)
    if (other.rank != job.failure->rank) failed.others.push_back(other);
  return failed;
}

void report(const AgentEnd& end, const std::string& title, const RoundOutcome& outcome,
            Console& err) {
  switch (end.why) {
    case AgentEnd::Why::kJobEnded:
      if (end.job.failure) err.write_message(failure_report(failed_job(end.job, title, outcome)));
      if (end.job.outcome == EndJob::Outcome::kTimedOut) spdlog::error("{}", end.job.message);
      if (end.job.outcome == EndJob::Outcome::kPreempted)
        spdlog::warn("{}: the job has ended to go on later (exit code {})", end.job.message,
                     static_cast<int>(kPreempted));
      return;
    case AgentEnd::Why::kStopSignal:
      spdlog::warn("stopped by {}; no worker of this node is left", signal_name(end.signal));
      return;
    case AgentEnd::Why::kRefused:
      spdlog::error("the coordinator refused this node: {}", end.message);
      return;
    case AgentEnd::Why::kCoordinatorLost:
      spdlog::error("lost the coordinator: {}", end.message);
      return;
  }
}

bool wants_log_files(const LogSpec& logs) {
  const auto any = [](const Streams& streams) { return streams.out || streams.err; };
  return std::ranges::any_of(logs.redirects, any) || std::ranges::any_of(logs.tee, any);
}

/// In --log-dir, which the user looks into; else in the temporary directory, where nothing stays
/// that nobody has asked for.
Result<RunDirectory> make_run_directory(const LaunchSpec& spec,
                                        const EnvironmentLookup& environment) {
  const bool wanted = !spec.logs.directory.empty();
  const std::string temporary = environment("TMPDIR").value_or("");
  auto directory = wanted ? RunDirectory::make(spec.logs.directory, spec.rules.run_id)
                          : RunDirectory::make(temporary.empty() ? "/tmp" : temporary, "ddprun");
  if (!directory)
    return Error{directory.error().kind, (wanted ? "--log-dir: " : "for error files (TMPDIR): ") +
                                             directory.error().message};
  if (wanted || wants_log_files(spec.logs)) directory->keep();
  if (!wanted && wants_log_files(spec.logs))
    spdlog::warn("log files are in {} (--log-dir chooses another place)",
                 directory->path().string());
  return directory;
}

/// The NUMA nodes of the GPUs in the order in which workers see them.
std::vector<int> visible_gpu_nodes(const EnvironmentLookup& environment) {
  std::vector<int> nodes = gpu_numa_nodes("/sys", "/proc");
  const auto list = environment("CUDA_VISIBLE_DEVICES");
  if (!list) return nodes;
  std::vector<int> visible;
  for (const std::string& device : visible_devices(*list, static_cast<int>(nodes.size())))
    if (const auto index = device_index(device)) visible.push_back(nodes[*index]);
  return visible;
}

void say_where(const LaunchSpec& spec, bool here) {
  spdlog::info("coordinator: {} port {}, {}", spec.coordinator.host, spec.coordinator.port,
               here ? "on this node" : "on another node");
}

bool has_error_file(const WorkerFailure& failure) { return !failure.error_file.empty(); }

/// A launcher above us (a ddprun that runs a ddprun) finds the first failure's record where it
/// looks.
void hand_up_error_file(const WorkerFailure& failure, const EnvironmentLookup& environment) {
  const auto wanted = environment("TORCHELASTIC_ERROR_FILE");
  if (!wanted || wanted->empty() || failure.error_file.empty()) return;
  std::error_code ignored;  // it is that launcher's loss, and no failure of the job
  std::filesystem::copy_file(failure.error_file, *wanted,
                             std::filesystem::copy_options::overwrite_existing, ignored);
}

}  // namespace

Result<NodeFacts> node_facts(const LaunchSpec& spec, const EnvironmentLookup& environment) {
  NodeFacts node{.environment = own_environment(), .usable_cpus = usable_cpus()};
  node.terminals = {isatty(STDOUT_FILENO) == 1, isatty(STDERR_FILENO) == 1};
  if (!spec.numa_binding) return node;
  const auto topology = read_topology("/sys", allowed_cpus());
  if (!topology) return topology.error();
  auto placements =
      place_workers(*spec.numa_binding, *topology,
                    nodes_of_workers(*topology, visible_gpu_nodes(environment), spec.workers));
  if (!placements)
    return Error{placements.error().kind, "--numa-binding: " + placements.error().message};
  node.placements = std::move(*placements);
  return node;
}

Result<int> run(asio::io_context& io, LaunchSpec spec, const EnvironmentLookup& environment,
                Console& out, Console& err, const RunEvents& events) {
  auto node = node_facts(spec, environment);
  if (!node) return node.error();
  if (const auto raised =
          raise_file_limit(fmt::format("{} workers", spec.workers), files_for_workers(spec));
      !raised)
    return raised.error();
  std::vector<int> held = spec.stop_signals;
  std::ranges::copy(spec.preempt_signals, std::back_inserter(held));
  SignalHold signals{held};
  node->mark = fresh_id();
  const Guardian guardian{node->mark};
  node->guardian = guardian.pid();
  spec.host = host_name();
  if (spec.rules.run_id.empty()) spec.rules.run_id = fresh_id();
  std::optional<RunDirectory> directory;
  if (!spec.logs.no_files) {
    auto made = make_run_directory(spec, environment);
    if (!made) return made.error();
    directory.emplace(std::move(*made));
    node->run_directory = directory->path();
  }
  auto server = host_coordinator(io, spec);
  if (!server) return server.error();
  say_where(spec, *server != nullptr);
  if (*server) events.listening({spec.rules.master_addr, spec.coordinator.port});
  if (const auto threads = threads_per_worker(spec.workers, node->usable_cpus);
      threads && !environment("OMP_NUM_THREADS"))
    spdlog::info("OMP_NUM_THREADS={} for each of {} workers ({} usable CPUs)", *threads,
                 spec.workers, node->usable_cpus);
  const std::string title = spec.title;
  if (spec.shares_output) spec.tells_job = *server != nullptr;
  const bool tells_job = spec.tells_job;
  auto agent = std::make_optional<Agent>(io.get_executor(), std::move(spec), std::move(*node),
                                         Consoles{out, err});
  signals.release();
  std::optional<AgentEnd> ended;
  co_spawn(io, agent->run(), [&](const std::exception_ptr& failure, AgentEnd how) {
    report_failure("the agent")(failure);
    ended = std::move(how);
    if (*server) (*server)->close();
  });
  while (!ended) io.run_one();
  const AgentEnd end = std::move(*ended);
  events.ended(end);
  io.run_for(kGoodbyeTimeout);
  const RoundOutcome outcome = agent->outcome();
  signals.hold();
  agent.reset();  // and its handlers with it
  signals.only_interrupt();
  if (tells_job || end.why != AgentEnd::Why::kJobEnded) report(end, title, outcome, err);
  if (end.job.failure) hand_up_error_file(*end.job.failure, environment);
  if (directory && std::ranges::any_of(outcome.failures, has_error_file)) directory->keep();
  return exit_code(end);
}

}  // namespace ddprun
