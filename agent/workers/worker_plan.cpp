#include "agent/workers/worker_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "agent/control/trainer_status.hpp"
#include "agent/introspection/watch_folder.hpp"
#include "agent/spec/template_text.hpp"
#include "agent/timers/timer_table.hpp"
#include "base/failure.hpp"
#include "base/numbers.hpp"
#include "ddprun/worker_env.hpp"
#include "rendezvous/messages/round_messages.hpp"
#include "worker_sdk/contract/heartbeat_slot.hpp"
#include "worker_sdk/contract/visible_devices.hpp"

namespace ddprun {

namespace {

namespace env = sdk::env;

constexpr char kPythonPath[] = "PYTHONPATH";
constexpr char kVisibleDevices[] = "CUDA_VISIBLE_DEVICES";

using Environment = std::map<std::string, std::string>;

Environment parse(const std::vector<std::string>& environment) {
  Environment parsed;
  for (const std::string& entry : environment) {
    const std::size_t equals = entry.find('=');
    if (equals != std::string::npos) parsed[entry.substr(0, equals)] = entry.substr(equals + 1);
  }
  return parsed;
}

std::string names(const std::vector<int>& signals) {
  std::string out;
  for (const int signal : signals) {
    if (!out.empty()) out += ',';
    out += signal_name(signal);
  }
  return out;
}

/// The value of a variable that libraries know in small and in capital letters; small ones win.
std::string either(const Environment& environment, const char* small, const char* capital) {
  const auto found = environment.find(small);
  if (found != environment.end()) return found->second;
  const auto other = environment.find(capital);
  return other == environment.end() ? "" : other->second;
}

/// Where a proxy is set for HTTP, libraries would send it what is meant for this machine, tokens
/// too, and it would look for the address on its own one.
void spare_proxies(Environment& out, const std::string& host) {
  const bool has_proxy = !either(out, "http_proxy", "HTTP_PROXY").empty() ||
                         !either(out, "all_proxy", "ALL_PROXY").empty();
  const std::string spared = either(out, "no_proxy", "NO_PROXY");
  if (!has_proxy || spared == "*") return;
  out["no_proxy"] = out["NO_PROXY"] = spared.empty() ? host : spared + "," + host;
}

/// The variables that are the same for all workers of this node in every round. Values that the
/// user has set for the libraries win.
Environment node_environment(const LaunchSpec& spec, const NodeFacts& node) {
  Environment out = parse(node.machine.environment);
  out.erase(env::kHeartbeat);  // an agent above this one may have set it
  out.erase(kSecretVariable);  // workers have no use for it
  out[env::kCheckpointSignal] = std::to_string(spec.preemption.checkpoint_signal);
  out.erase(env::kCheckpointFolder);  // as kHeartbeat
  if (spec.node.checkpoints) out[env::kCheckpointFolder] = spec.node.checkpoints->folder;
  out.try_emplace(env::kNcclAsyncErrorHandling, "1");
  out.erase(env::kIntrospection);  // as kHeartbeat
  out.erase(env::kControl);
  out.erase(env::kParked);
  if (spec.introspection.on) out.try_emplace("PYTHONFAULTHANDLER", "1");
  out.erase(kDebugOnErrorVariable);
  if (spec.introspection.debug_on_error.count() > 0)
    out[kDebugOnErrorVariable] =
        fmt::format("{}", std::chrono::duration<double>{spec.introspection.debug_on_error}.count());
  if (!node.endpoints.timer_pipe.empty()) out[kTimerFileVariable] = node.endpoints.timer_pipe;
  if (!node.endpoints.trainer_url.empty()) spare_proxies(out, kTrainerHost);
  if (const auto threads = threads_per_worker(spec.workers, node.machine.usable_cpus))
    out.try_emplace(env::kOmpNumThreads, std::to_string(*threads));
  if (!node.mark.empty()) {
    std::string& marks = out[kMarkVariable];
    marks += (marks.empty() ? "" : ":") + node.mark;
  }
  return out;
}

/// Adds the variables that are the same for all workers of this node in one round.
void add_round(Environment& out, const LaunchSpec& spec, const StartRound& round,
               const NodeFacts& node) {
  out[env::kLocalWorldSize] = std::to_string(spec.workers);
  out[env::kGroupRank] = std::to_string(round.group_rank);
  out[env::kGroupWorldSize] = std::to_string(round.group_world_size);
  out[env::kRoleName] = spec.role;
  out[env::kMasterAddr] = round.master_addr;
  out[env::kMasterPort] = std::to_string(round.master_port);
  out[env::kRestartCount] = std::to_string(round.attempt);
  out[env::kMaxRestarts] = std::to_string(spec.terms.restarts_max);
  out[env::kRunId] = node.run.run_id;
  out[env::kSignalsToHandle] = names(spec.stop_signals);
  out[env::kRound] = std::to_string(round.round);
  out[env::kUseAgentStore] = "True";  // torch compares with exactly this text
}

std::vector<std::string> flatten(const Environment& environment) {
  std::vector<std::string> flat;
  flat.reserve(environment.size());
  for (const auto& [name, value] : environment) flat.push_back(fmt::format("{}={}", name, value));
  return flat;
}

/// With --virtual-local-rank a worker sees one GPU: its own of those that ddprun sees.
std::string own_device(const Environment& environment, int local_rank) {
  const auto visible = environment.find(kVisibleDevices);
  if (visible == environment.end()) return std::to_string(local_rank);
  const std::vector<std::string> devices = sdk::visible_devices(visible->second);
  const auto index = static_cast<std::size_t>(local_rank);
  return index < devices.size() ? devices[index] : "";
}

void add_worker(Environment& out, const LaunchSpec& spec, const StartRound& round,
                const NodeFacts& node, int local_rank) {
  const int rank = rank_of(round, local_rank);
  const bool prepares = rank >= round.world_size;
  const int role_rank = prepares ? round.role_world_size + rank - round.world_size
                                 : round.first_role_rank + rank - round.first_rank;
  out[env::kRank] = std::to_string(rank);
  out[env::kLocalRank] = std::to_string(spec.virtual_local_rank ? 0 : local_rank);
  out[env::kRoleRank] = std::to_string(role_rank);
  // One that prepares is in no round. Until it enters one, its numbers fit each other.
  out[env::kWorldSize] = std::to_string(std::max(round.world_size, rank + 1));
  out[env::kRoleWorldSize] = std::to_string(std::max(round.role_world_size, role_rank + 1));
  out[env::kErrorFile] = error_file(node, round, local_rank).string();
  if (!node.paths.heartbeats.empty())
    out[env::kHeartbeat] =
        sdk::to_string({node.paths.heartbeats, static_cast<std::size_t>(local_rank)});
  if (!node.endpoints.control.empty())
    out[env::kControl] = node.endpoints.control + ":" + std::to_string(local_rank);
  if (node.endpoints.trainer_url.empty()) return;
  out[kTrainerUrlVariable] = node.endpoints.trainer_url + "/" + std::to_string(local_rank);
  out[kTrainerTokenVariable] = node.endpoints.trainer_token;
}

/// Lets Python run the hook, which takes both variables away again. The fork server's workers are
/// forked, so they run it themselves.
void add_hook(Environment& out, const StartRound& round, const NodeFacts& node, int local_rank) {
  if (node.paths.watch_folder.empty()) return;
  const std::filesystem::path folder{node.paths.watch_folder};
  out[env::kIntrospection] = (folder / watch_name(round.round, local_rank)).string();
}

}  // namespace

std::filesystem::path round_directory(const NodeFacts& node, const StartRound& round) {
  if (node.paths.run_directory.empty()) return {};
  return node.paths.run_directory / ("attempt_" + std::to_string(round.round - 1));
}

std::optional<int> threads_per_worker(int workers, int usable_cpus) {
  if (workers == 1) return std::nullopt;
  return std::max(1, usable_cpus / workers);
}

std::filesystem::path error_file(const NodeFacts& node, const StartRound& round, int local_rank) {
  const auto directory = round_directory(node, round);
  return directory.empty() ? directory : directory / std::to_string(local_rank) / "error.json";
}

CommonEnvironment common_environment(const LaunchSpec& spec, const NodeFacts& node) {
  Environment common = node_environment(spec, node);
  CommonEnvironment out;
  for (const auto& [name, value] : round_environment(spec, {}, node, 0)) {
    out.per_worker.push_back(name);
    common.erase(name);  // a launcher above this one may have set it
  }
  out.environment = flatten(common);
  return out;
}

std::map<std::string, std::string> round_environment(const LaunchSpec& spec,
                                                     const StartRound& round, const NodeFacts& node,
                                                     int local_rank) {
  Environment own;
  add_round(own, spec, round, node);
  add_worker(own, spec, round, node, local_rank);
  return own;
}

std::vector<Command> plan_workers(const LaunchSpec& spec, const StartRound& round,
                                  const NodeFacts& node) {
  Environment environment = node_environment(spec, node);
  const Environment ours = environment;
  add_round(environment, spec, round, node);
  if (!node.paths.watch_folder.empty()) {
    const auto users = ours.find(kPythonPath);
    environment[kPythonPath] =
        node.paths.watch_folder + (users == ours.end() ? "" : ":" + users->second);
  }
  std::vector<Command> commands;
  for (int local_rank = 0; local_rank < spec.workers; ++local_rank) {
    add_worker(environment, spec, round, node, local_rank);
    add_hook(environment, round, node, local_rank);
    if (spec.virtual_local_rank) environment[kVisibleDevices] = own_device(ours, local_rank);
    Command command{spec.program, spec.arguments, flatten(environment), {}};
    if (!node.machine.placements.empty()) command.placement = node.machine.placements[local_rank];
    // argv[0] is the program itself, which torchrun does not substitute in either.
    const std::array values{TemplateValue{"local_rank", std::to_string(local_rank)}};
    for (std::size_t i = 1; i < command.arguments.size(); ++i)
      command.arguments[i] = substitute(command.arguments[i], values);
    commands.push_back(std::move(command));
  }
  return commands;
}

namespace {

StreamPlan plan_stream(const LaunchSpec& spec, bool terminal, bool redirected, bool teed,
                       int local_rank) {
  StreamPlan plan;
  const auto& shown = spec.logs.shown_ranks;
  plan.stamped = spec.logs.timestamps && (redirected || teed);
  plan.rotation = redirected || teed ? spec.logs.rotation : RotationRule{};
  plan.shown = (!redirected || teed) && (!shown || shown->contains(local_rank));
  plan.folded = spec.logs.fold && plan.shown;
  const bool as_ours = spec.pty == Pty::kAsOurs && terminal && plan.shown && !teed;
  plan.terminal = spec.pty == Pty::kAlways || as_ours;
  return plan;
}

}  // namespace

OutputPlan plan_output(const LaunchSpec& spec, const StartRound& round, const NodeFacts& node,
                       int local_rank) {
  const LogSpec& logs = spec.logs;
  const auto at = [&](const std::vector<Streams>& by_rank) {
    return logs.no_files || by_rank.empty() ? Streams{} : by_rank[local_rank];
  };
  const Streams redirected = at(logs.redirects);
  const Streams teed = at(logs.tee);
  OutputPlan plan{
      plan_stream(spec, node.machine.terminals.out, redirected.out, teed.out, local_rank),
      plan_stream(spec, node.machine.terminals.err, redirected.err, teed.err, local_rank)};
  const auto directory = round_directory(node, round);
  const auto own_directory = directory / std::to_string(local_rank);
  if (redirected.out || teed.out) plan.out.file = own_directory / "stdout.log";
  if (redirected.err || teed.err) plan.err.file = own_directory / "stderr.log";
  const std::string prefix = line_prefix(
      logs.prefix_template, {spec.role, node.run.host, std::to_string(rank_of(round, local_rank)),
                             std::to_string(local_rank)});
  const auto tee = [&](StreamPlan& stream, const auto& filters, const char* filtered_file) {
    if (!stream.shown) return;
    stream.prefix = prefix;
    stream.filters = filters;
    stream.filtered_file = directory / filtered_file;
  };
  if (teed.out) tee(plan.out, logs.out_filters, "filtered_stdout.log");
  if (teed.err) tee(plan.err, logs.err_filters, "filtered_stderr.log");
  return plan;
}

std::string log_file(const OutputPlan& plan) {
  return (plan.err.file.empty() ? plan.out.file : plan.err.file).string();
}

std::string line_prefix(const std::string& text, const LineWriter& writer) {
  return substitute(
      text, std::array{TemplateValue{"role_name", writer.role}, TemplateValue{"rank", writer.rank},
                       TemplateValue{"local_rank", writer.local_rank},
                       TemplateValue{"hostname", writer.host}});
}

std::string fold_label(const LaunchSpec& spec, const NodeFacts& node, const std::vector<int>& ranks,
                       const std::vector<int>& local_ranks) {
  return line_prefix(spec.logs.fold_template, {spec.role, node.run.host, format_number_list(ranks),
                                               format_number_list(local_ranks)});
}

}  // namespace ddprun
