#include "launcher/settings/interpret.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "base/numbers.hpp"
#include "launcher/settings/arguments.hpp"
#include "launcher/settings/gpus.hpp"
#include "launcher/settings/options.hpp"
#include "launcher/settings/program.hpp"
#include "launcher/settings/rdzv_conf.hpp"
#include "launcher/settings/restart_options.hpp"
#include "launcher/settings/values.hpp"
#include "rendezvous/messages/job_terms.hpp"
#include "rendezvous/messages/message_limits.hpp"

namespace ddprun {

namespace {

// These are the signals that #SBATCH --signal is usually given, and that Slurm sends before it
// kills (KillWait, GraceTime).
constexpr char kSlurmPreemptSignals[] = "SIGUSR1,SIGTERM";

/// What a checkpoint may take after SIGTERM, which schedulers send before they kill: Slurm KillWait
/// later, usually 30 s (https://slurm.schedmd.com/slurm.conf.html), and so does Kubernetes, unless
/// the pod says otherwise. A user who sets a time knows how long that is; in Slurm it cannot be
/// more.
constexpr std::chrono::milliseconds kCheckpointAfterSigterm{20'000};

/// Builds the Launch; every step reads its settings and fills in its part.
class Interpreter {
 public:
  Interpreter(const Arguments& arguments, const LocalSystem& system, const MeetingPlace& place)
      : arguments_{arguments}, settings_{arguments.settings}, system_{system}, place_{place} {}

  Result<Launch> interpret() {
    for (const auto step :
         {&Interpreter::count_workers, &Interpreter::decide_restarts,
          &Interpreter::decide_preemption, &Interpreter::decide_secret,
          &Interpreter::decide_rules_and_meeting, &Interpreter::decide_node_policy,
          &Interpreter::decide_output, &Interpreter::decide_status_page,
          &Interpreter::decide_workers, &Interpreter::check_ignored, &Interpreter::choose_program,
          &Interpreter::note_options})
      if (const Result<void> done = (this->*step)(); !done) return done.error();
    no_effect({"export", "ssh-cmd", "remote-path", "remote-dir"}, "without --hosts or --hostfile");
    launch_.dry_run = settings_.on("dry-run");
    return std::move(launch_);
  }

 private:
  Result<void> count_workers() {
    const auto nodes = decide_nodes(settings_, place_);
    if (!nodes) return nodes.error();
    const Setting& setting = settings_["nproc-per-node"];
    const auto count = setting.text.find(',') != std::string::npos
                           ? worker_count_of_node(setting, nodes->max)
                           : parse_workers(setting, system_.cpus, system_.gpus);
    if (!count) return count.error();
    spec_.workers = *count;
    note_shared_cpus();
    if (parse_number<int>(setting.text) && nodes->max <= kNodesMax)
      launch_.workers_of_nodes.assign(static_cast<std::size_t>(nodes->max), *count);
    return {};
  }

  /// A small machine is as it is, but what hides CPUs of a large one may be changed. Of hosts, the
  /// first one says it for all.
  void note_shared_cpus() {
    const int cpus = system_.cpus();
    const int all = system_.online_cpus();
    const bool others_say_it = place_.host && place_.host->node_rank != 0;
    if (spec_.workers <= cpus || cpus >= all || others_say_it) return;
    launch_.warnings.push_back(
        fmt::format("{} workers share {} of this machine's {} CPUs: ask for more (--cpus-per-task "
                    "of Slurm, resources.limits.cpu of Kubernetes)",
                    spec_.workers, cpus, all));
  }

  /// A list such as "4,4,2" has a number for each node, by its rank.
  Result<int> worker_count_of_node(const Setting& setting, int nodes) {
    const auto counts = parse_counts(setting, kWorkersPerNodeMax);
    if (!counts) return counts.error();
    if (static_cast<int>(counts->size()) != nodes)
      return unexpected(setting,
                        fmt::format("expected one number for each of {} nodes (--nnodes)", nodes));
    const Setting node_rank = node_rank_setting(settings_, place_);
    if (!node_rank.given && counts->size() > 1)
      return unexpected(setting, "which of them is this node's? --node-rank says so");
    const auto rank = parse_node_rank(node_rank, nodes);
    if (!rank) return rank.error();
    launch_.workers_of_nodes = *counts;
    return (*counts)[*rank];
  }

  Result<void> decide_restarts() {
    const auto restarts = parse_restarts(settings_);
    if (!restarts) return restarts.error();
    const auto shutdown = parse_seconds(settings_["shutdown-timeout"]);
    if (!shutdown) return shutdown.error();
    auto signals = parse_signals(settings_["signals-to-handle"]);
    if (!signals) return signals.error();
    const auto hang = parse_hang_timeout(settings_["hang-timeout"]);
    if (!hang) return hang.error();
    spec_.terms.hang_timeout = *hang;
    spec_.terms.on_hang = parse_on_hang(settings_["on-hang"].text);
    spec_.in_place = !settings_.on("no-in-place");
    spec_.introspection.on = !settings_.on("no-introspection");
    if (const Result<void> debug = debug_on_error(); !debug) return debug.error();
    spec_.terms.restarts_max = restarts->restarts_max;
    spec_.terms.restarts = restarts->policy;
    if (restarts->restarts_max == 0)
      no_effect({"restart-delay", "same-failure-limit"}, "there are no restarts (--max-restarts)");
    spec_.report_file = settings_["report-file"].text;
    spec_.logs.torchrun_block = !settings_.on("no-torchrun-block");
    spec_.logs.record.wanted = !settings_.on("no-run-record");
    spec_.terms.shutdown_timeout = *shutdown;
    spec_.stop_signals = std::move(*signals);
    return {};
  }

  Result<void> debug_on_error() {
    if (!settings_["debug-on-error"].given) return {};
    const auto patience = parse_seconds(settings_["debug-on-error"], true);
    if (!patience) return patience.error();
    if (!spec_.introspection.on)
      return invalid(
          "--debug-on-error and --no-introspection exclude each other: without it no "
          "debugger can be opened in a worker");
    spec_.introspection.debug_on_error = *patience;
    return {};
  }

  Result<void> decide_node_policy() {
    spec_.node.history = settings_["node-history"].text;
    NodePolicy& policy = spec_.terms.node_policy;
    if (!spec_.node.history.empty()) policy.strikes = kNodeStrikes;
    if (const Setting& strikes = settings_["node-strikes"]; !strikes.text.empty()) {
      const auto number = parse_integer(strikes, 0, kNodeFailuresMax);
      if (!number) return number.error();
      policy.strikes = *number;
    }
    const auto window = parse_seconds(settings_["node-window"], true);
    if (!window) return window.error();
    policy.window_ms = window->count();
    if (policy.strikes == 0)
      no_effect({"node-history", "node-window"}, "no node is left out (--node-strikes)");
    else if (spec_.terms.has_one_node())
      no_effect({"node-history", "node-strikes", "node-window"}, "the job has one node");
    if (policy.strikes == 0 || spec_.terms.has_one_node()) {
      policy = {};
      spec_.node.history.clear();
    }
    return {};
  }

  Result<void> decide_preemption() {
    if (const Setting names = preempt_signals(); !names.text.empty()) {
      auto signals = parse_signals(names);
      if (!signals) return signals.error();
      spec_.preemption.signals = std::move(*signals);
    }
    const auto timeout = parse_seconds(settings_["preempt-timeout"], true);
    if (!timeout) return timeout.error();
    const auto signal = parse_signals(settings_["checkpoint-signal"]);
    if (!signal) return signal.error();
    if (signal->size() != 1)
      return unexpected(settings_["checkpoint-signal"], "expected one signal");
    const Setting& given = settings_["preempt-timeout"];
    const bool in_slurm = place_.cluster && place_.cluster->slurm;
    spec_.preemption.timeout = *timeout;
    spec_.preemption.timeout_after_sigterm =
        given.given && !in_slurm ? *timeout : std::min(*timeout, kCheckpointAfterSigterm);
    spec_.preemption.checkpoint_signal = signal->front();
    return {};
  }

  Setting preempt_signals() const {
    const Setting& setting = settings_["preempt-signal"];
    if (setting.given || !place_.cluster || !place_.cluster->slurm) return setting;
    return {kSlurmPreemptSignals, place_.cluster->by + ", in place of --preempt-signal", true};
  }

  /// With a secret, the way to the store is inside of what it protects.
  Result<void> decide_secret() {
    if (place_.host) {  // the user has said it to the launcher
      spec_.secret = place_.host->secret;
      return {};
    }
    auto secret = job_secret(settings_, system_.environment, system_.read_secret);
    if (!secret) return secret.error();
    spec_.secret = *secret;
    if (spec_.secret && wants_open_store(settings_)) no_effect({"store"}, kStoreInside);
    return {};
  }

  Result<void> decide_rules_and_meeting() {
    const auto conf = parse_rdzv_conf(settings_["rdzv-conf"]);
    if (!conf) return conf.error();
    spec_.terms.join_timeout = conf->join.value_or(spec_.terms.join_timeout);
    spec_.terms.last_call_timeout = conf->last_call.value_or(spec_.terms.last_call_timeout);
    spec_.terms.heartbeat_timeout = conf->heartbeat.value_or(spec_.terms.heartbeat_timeout);
    if (!conf->unused.empty())
      warn_no_effect(launch_.warnings, named(settings_["rdzv-conf"], conf->unused),
                     "ddprun's coordinator has no use for that");
    if (!conf->unknown.empty())
      warn_no_effect(launch_.warnings, named(settings_["rdzv-conf"], conf->unknown),
                     "torchrun has no use for that, either" +
                         std::string{conf->unknown.find("rdzv_") == std::string::npos
                                         ? ""
                                         : "; --rdzv-backend and --rdzv-endpoint are options"});
    if (const std::string backend = settings_["rdzv-backend"].text;
        !conf->for_etcd.empty() && !backend.starts_with("etcd"))
      warn_no_effect(launch_.warnings, named(settings_["rdzv-conf"], conf->for_etcd),
                     "that is for --rdzv-backend etcd");
    if (settings_["store"].text == "local" || spec_.secret) spec_.terms.store = StoreAt::kLocal;
    auto decided = decide_meeting(settings_, *conf, place_);
    if (!decided) return decided.error();
    spec_.terms.nodes_min = decided->nodes.min;
    spec_.terms.nodes_max = decided->nodes.max;
    spec_.meeting = std::move(decided->meeting);
    std::ranges::move(decided->warnings, std::back_inserter(launch_.warnings));
    return {};
  }

  Result<void> decide_output() {
    LogSpec& logs = spec_.logs;
    auto redirects = parse_streams(settings_["redirects"], spec_.workers);
    if (!redirects) return redirects.error();
    auto tee = parse_streams(settings_["tee"], spec_.workers);
    if (!tee) return tee.error();
    auto shown = parse_ranks(settings_["local-ranks-filter"]);
    if (!shown) return shown.error();
    logs.directory = settings_["log-dir"].text;
    logs.no_files = logs.directory == "/dev/null";
    logs.redirects = std::move(*redirects);
    logs.tee = std::move(*tee);
    logs.shown_ranks = std::move(*shown);
    logs.out_filters = parse_texts(settings_["duplicate-stdout-filters"]);
    logs.err_filters = parse_texts(settings_["duplicate-stderr-filters"]);
    const Setting& prefix = settings_["log-line-prefix-template"];
    // With --hosts, the launcher puts the host before each line.
    if (spec_.meeting.shares_output && !spec_.terms.has_one_node() && !place_.host)
      logs.prefix_template = "[${hostname}:${role_name}${local_rank}]:";
    if (!prefix.text.empty()) logs.prefix_template = logs.fold_template = prefix.text;
    logs.fold = settings_.on("fold");
    spec_.event_log = settings_["event-log"].text;
    logs.timestamps = settings_.on("log-timestamps");
    const auto rotation = parse_rotation(settings_["log-rotate"]);
    if (!rotation) return rotation.error();
    logs.rotation = *rotation;
    const auto none = [](const Streams& streams) { return !streams.out && !streams.err; };
    if (std::ranges::all_of(logs.tee, none) && std::ranges::all_of(logs.redirects, none))
      no_effect({"log-timestamps", "log-rotate"}, "without --tee or --redirects");
    if (std::ranges::all_of(logs.tee, none) && !logs.fold)
      no_effect({"log-line-prefix-template"}, "without --tee or --fold");
    if (std::ranges::none_of(logs.tee, &Streams::out))
      no_effect({"duplicate-stdout-filters"}, "without --tee of stdout");
    if (std::ranges::none_of(logs.tee, &Streams::err))
      no_effect({"duplicate-stderr-filters"}, "without --tee of stderr");
    return {};
  }

  Result<void> decide_status_page() {
    const Setting& setting = settings_["status-addr"];
    if (setting.text.empty()) return {};
    auto address = parse_status_address(setting);
    if (!address) return address.error();
    spec_.status_address = std::move(*address);
    return {};
  }

  Result<void> decide_workers() {
    if (settings_.on("pty") && settings_.on("no-pty"))
      return invalid("--pty and --no-pty exclude each other");
    if (settings_.on("pty")) spec_.pty = Pty::kAlways;
    if (settings_.on("no-pty")) spec_.pty = Pty::kNever;
    spec_.role = settings_["role"].text;
    spec_.node.numa_binding = numa_binding_named(settings_["numa-binding"].text);
    spec_.virtual_local_rank = settings_.on("virtual-local-rank");
    if (const Result<void> warm = warm_start(); !warm) return warm.error();
    if (const Result<void> check = node_check(); !check) return check.error();
    if (const Result<void> kept = checkpoints(); !kept) return kept.error();
    return spec_.virtual_local_rank ? enough_devices() : Result<void>{};
  }

  Result<void> warm_start() {
    auto modules = parse_modules(settings_["warm"]);
    if (!modules) return modules.error();
    if (!*modules) return {};
    if (spec_.virtual_local_rank)
      return invalid(
          "--warm and --virtual-local-rank exclude each other: what has been imported once cannot "
          "see another CUDA_VISIBLE_DEVICES in each worker");
    if (settings_.on("no-python") && !settings_.on("run-path"))
      return invalid("--warm and --no-python exclude each other: only Python scripts have imports");
    spec_.warm = WarmStart{std::move(**modules)};
    return {};
  }

  Result<void> node_check() {
    auto folders = parse_check_folders(settings_["check-nodes"]);
    if (!folders) return folders.error();
    if (*folders) spec_.node.check = NodeCheck{std::move(**folders)};
    return {};
  }

  Result<void> checkpoints() {
    auto kept = parse_checkpoints(settings_["checkpoints"], system_.working_directory);
    if (!kept) return kept.error();
    if (*kept) (*kept)->shared = !spec_.terms.has_one_node();
    spec_.terms.checkpoints = kept->has_value();
    // Those that stay may be in the midst of a save when another one is lost.
    if (*kept) spec_.in_place = false;
    spec_.node.checkpoints = std::move(*kept);
    return {};
  }

  /// With --virtual-local-rank every worker needs an entry of its own.
  Result<void> enough_devices() {
    const auto listed = listed_gpus(system_.environment);
    if (!listed || static_cast<int>(listed->size()) >= spec_.workers) return {};
    return invalid(fmt::format(
        "--virtual-local-rank gives each of the {} workers one GPU, and "
        "CUDA_VISIBLE_DEVICES '{}' names {}",
        spec_.workers, system_.environment("CUDA_VISIBLE_DEVICES").value_or(""), listed->size()));
  }

  Result<void> check_ignored() {
    if (const auto interval = parse_seconds(settings_["monitor-interval"], true); !interval)
      return interval.error();
    for (const Option& option : options())
      if (option.group == OptionGroup::kIgnored) no_effect({option.name}, std::string{option.help});
    // With --hosts, the launcher has said so.
    if (auto misplaced = misplaced_options(arguments_); !misplaced.empty() && !place_.host)
      launch_.warnings.push_back(std::move(misplaced));
    return {};
  }

  Result<void> choose_program() {
    if (settings_.on("run-path")) no_effect({"module", "no-python"}, "with --run-path");
    auto program = decide_program(arguments_, system_);
    if (!program) return program.error();
    const bool is_script = settings_.on("run-path") || !settings_.on("no-python");
    if (auto doubt = environment_in_doubt(system_.environment); is_script && !doubt.empty())
      launch_.warnings.push_back(std::move(doubt));
    spec_.title = std::move(program->title);
    spec_.program = std::move(program->path);
    spec_.arguments = std::move(program->arguments);
    return {};
  }

  /// Options that name the job, its files and its places are other ones in each run.
  Result<void> note_options() {
    static constexpr std::string_view kOfOneRun[] = {
        "rdzv-id",     "rdzv-endpoint", "node-rank",   "master-addr",
        "master-port", "local-addr",    "secret-file", "log-dir",
        "event-log",   "report-file",   "status-addr", "node-history",
        "checkpoints", "no-run-record", "check-nodes", "no-torchrun-block"};
    for (const Option& option : options()) {
      const Setting& setting = settings_[option.name];
      const bool matters =
          option.group != OptionGroup::kHosts && option.group != OptionGroup::kHelp &&
          option.group != OptionGroup::kIgnored && std::ranges::count(kOfOneRun, option.name) == 0;
      const bool is_set = setting.given && setting.text != option.fallback &&
                          !(option.is_flag() && setting.text != "1");
      if (matters && is_set)
        spec_.logs.record.options[std::string{option.name}] =
            option.is_flag() ? kFlagIsOn : setting.text;
    }
    return {};
  }

  void no_effect(std::initializer_list<std::string_view> names, const std::string& why) {
    for (const std::string_view name : names)
      warn_no_effect(launch_.warnings, settings_[name], why);
  }

  const Arguments& arguments_;
  const Settings& settings_;
  const LocalSystem& system_;
  const MeetingPlace& place_;
  Launch launch_;
  LaunchSpec& spec_ = launch_.spec;
};

}  // namespace

Result<Launch> interpret(const Arguments& arguments, const LocalSystem& system,
                         const MeetingPlace& place) {
  return Interpreter{arguments, system, place}.interpret();
}

}  // namespace ddprun
