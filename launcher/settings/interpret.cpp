#include "launcher/settings/interpret.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "launcher/settings/find_program.hpp"
#include "launcher/settings/options.hpp"
#include "launcher/settings/values.hpp"
#include "rendezvous/wire/messages.hpp"

namespace ddprun {

namespace {

/// Builds the Launch; every step reads its settings and fills in its part.
class Interpreter {
 public:
  /// `meeting`: how nodes meet when a scheduler tells it.
  Interpreter(const Arguments& arguments, const Surroundings& surroundings,
              std::optional<ClusterMeeting> meeting)
      : arguments_{arguments},
        settings_{arguments.settings},
        surroundings_{surroundings},
        meeting_{std::move(meeting)} {}

  Result<Launch> interpret() {
    for (const auto step : {&Interpreter::size, &Interpreter::failure, &Interpreter::preemption,
                            &Interpreter::meeting_place, &Interpreter::output,
                            &Interpreter::workers, &Interpreter::ignored, &Interpreter::program})
      if (const Result<void> done = (this->*step)(); !done) return done.error();
    no_effect({"export", "ssh-cmd", "remote-path", "remote-dir"}, "without --hosts or --hostfile");
    launch_.dry_run = settings_.on("dry-run");
    return std::move(launch_);
  }

 private:
  Result<void> size() {
    const auto nodes = parse_nodes(settings_["nnodes"]);
    if (!nodes) return nodes.error();
    spec_.rules.nodes_min = nodes->min;
    spec_.rules.nodes_max = nodes->max;
    const auto count = worker_count();
    if (!count) return count.error();
    spec_.workers = *count;
    return {};
  }

  Result<int> worker_count() {
    const Setting& setting = settings_["nproc-per-node"];
    if (setting.text.find(',') != std::string::npos) return worker_count_of_node(setting);
    if (setting.text == "cpu") return surroundings_.cpus();
    if (setting.text == "gpu" || setting.text == "auto") {
      const int gpus = surroundings_.gpus();
      if (gpus > 0) return gpus;
      if (setting.text == "auto") return surroundings_.cpus();
      return unexpected(setting,
                        "no GPU is visible here (see nvidia-smi and CUDA_VISIBLE_DEVICES); give a "
                        "number, or cpu");
    }
    auto count = parse_integer(setting, 1, kWorkersPerNodeMax);
    if (!count)
      return unexpected(setting,
                        fmt::format("expected a whole number from 1 to {}, auto, gpu or cpu",
                                    kWorkersPerNodeMax));
    return count;
  }

  /// "4,4,2": by node rank.
  Result<int> worker_count_of_node(const Setting& setting) {
    const auto counts = parse_counts(setting, kWorkersPerNodeMax);
    if (!counts) return counts.error();
    if (static_cast<int>(counts->size()) != spec_.rules.nodes_max)
      return unexpected(setting, fmt::format("expected one number for each of {} nodes (--nnodes)",
                                             spec_.rules.nodes_max));
    if (!settings_["node-rank"].given && counts->size() > 1)
      return unexpected(setting, "which of them is this node's? --node-rank says so");
    const auto rank = parse_integer(settings_["node-rank"], 0, spec_.rules.nodes_max - 1);
    if (!rank) return rank.error();
    return (*counts)[*rank];
  }

  Result<void> failure() {
    const auto restarts = parse_integer(settings_["max-restarts"], 0);
    if (!restarts) return restarts.error();
    const auto shutdown = parse_seconds(settings_["shutdown-timeout"]);
    if (!shutdown) return shutdown.error();
    auto signals = parse_signals(settings_["signals-to-handle"]);
    if (!signals) return signals.error();
    spec_.rules.restarts_max = *restarts;
    spec_.shutdown_timeout = *shutdown;
    spec_.stop_signals = std::move(*signals);
    return {};
  }

  Result<void> preemption() {
    if (const Setting& names = settings_["preempt-signal"]; !names.text.empty()) {
      auto signals = parse_signals(names);
      if (!signals) return signals.error();
      spec_.preempt_signals = std::move(*signals);
    }
    const auto timeout = parse_seconds(settings_["preempt-timeout"], true);
    if (!timeout) return timeout.error();
    const auto signal = parse_signals(settings_["checkpoint-signal"]);
    if (!signal) return signal.error();
    if (signal->size() != 1)
      return unexpected(settings_["checkpoint-signal"], "expected one signal");
    spec_.preempt_timeout = *timeout;
    spec_.checkpoint_signal = signal->front();
    return {};
  }

  Result<void> meeting_place() {
    const auto times = parse_rdzv_conf(settings_["rdzv-conf"]);
    if (!times) return times.error();
    spec_.rules.join_timeout = times->join.value_or(spec_.rules.join_timeout);
    spec_.rules.last_call_timeout = times->last_call.value_or(spec_.rules.last_call_timeout);
    spec_.rules.heartbeat_timeout = times->heartbeat.value_or(spec_.rules.heartbeat_timeout);
    spec_.rules.run_id = settings_["rdzv-id"].text;
    if (settings_["store"].text == "local") spec_.rules.store = StoreAt::kLocal;
    if (settings_.on("standalone")) return meet_alone();
    if (spec_.rules.run_id.empty() && several_nodes())
      return unexpected(settings_["rdzv-id"], "the nodes of a job need a name in common");
    const std::string& backend = settings_["rdzv-backend"].text;
    auto met = backend == "static" ? meet_static()
               : backend == "c10d" ? meet_c10d()
                                   : unexpected(settings_["rdzv-backend"],
                                                "etcd is not there in this version, expected "
                                                "static or c10d");
    if (!met || !several_nodes()) return met;
    if (spec_.coordinator.port == 0)
      return unexpected(settings_["rdzv-endpoint"],
                        "all nodes have to know the port, expected HOST:PORT");
    if (times->is_host) spec_.hosting = *times->is_host ? Hosting::kHere : Hosting::kElsewhere;
    spec_.rejoin = spec_.hosting != Hosting::kHere;
    return {};
  }

  bool several_nodes() const { return spec_.rules.nodes_max > 1; }

  Result<void> meet_alone() {
    no_effect(
        {"rdzv-id", "rdzv-backend", "rdzv-endpoint", "node-rank", "master-addr", "master-port"},
        "with --standalone");
    if (several_nodes()) return unexpected(settings_["nnodes"], "--standalone is for one node");
    spec_.rules.run_id.clear();
    return {};
  }

  Result<void> meet_static() {
    const auto rank = parse_integer(settings_["node-rank"], 0, spec_.rules.nodes_max - 1);
    if (!rank) return rank.error();
    const auto port = parse_integer(settings_["master-port"], 0, kPortMax);
    if (!port) return port.error();
    const Setting& address = settings_["master-addr"];
    if (settings_["rdzv-endpoint"].given && !settings_["rdzv-endpoint"].text.empty()) {
      no_effect({"master-addr", "master-port"}, "beside --rdzv-endpoint");
      auto endpoint = parse_endpoint(settings_["rdzv-endpoint"], *port);
      if (!endpoint) return endpoint.error();
      spec_.coordinator = std::move(*endpoint);
    } else {
      if (address.text.empty()) return unexpected(address, "expected a host name or an address");
      // Nobody else has to know the port of a job on one node: any free one cannot be taken.
      const bool any = !settings_["master-port"].given && !several_nodes();
      spec_.coordinator = {address.text, static_cast<std::uint16_t>(any ? 0 : *port)};
    }
    spec_.rules.master_addr = spec_.coordinator.host;
    spec_.rules.nodes_min = spec_.rules.nodes_max;  // static knows no MIN, as in torchrun
    if (several_nodes()) {
      spec_.node_rank = *rank;
      local_address_has_no_effect();
    }
    spec_.hosting = *rank == 0 ? Hosting::kHere : Hosting::kElsewhere;
    return {};
  }

  Result<void> meet_c10d() {
    no_effect({"node-rank", "master-addr", "master-port"}, "with --rdzv-backend c10d");
    const Setting& setting = settings_["rdzv-endpoint"];
    if (setting.text.empty() && several_nodes())
      return invalid(
          "--rdzv-backend c10d needs --rdzv-endpoint HOST[:PORT], the same on all nodes");
    if (!setting.text.empty()) {
      auto endpoint = parse_endpoint(setting, kC10dPort);
      if (!endpoint) return endpoint.error();
      if (several_nodes()) spec_.coordinator = std::move(*endpoint);
    }
    spec_.hosting = several_nodes() ? Hosting::kAtEndpoint : Hosting::kHere;
    // On one node nobody else comes to the endpoint: a free port cannot be another job's.
    if (!several_nodes()) spec_.coordinator.host = settings_["local-addr"].text;
    if (several_nodes()) local_address_has_no_effect();
    spec_.rules.master_addr = spec_.coordinator.host;
    if (meeting_) meet_in_cluster();
    return {};
  }

  void local_address_has_no_effect() {
    no_effect({"local-addr"}, "several nodes meet at the coordinator's address");
  }

  /// All have been started together: who hosts needs no guess, and ranks follow the nodes' order.
  void meet_in_cluster() {
    spec_.node_rank = meeting_->place.node_rank;
    spec_.shares_output = true;
    if (!meeting_->place.first_host_is_rank_0) return;
    spec_.hosting = meeting_->hosts_coordinator ? Hosting::kHere : Hosting::kElsewhere;
  }

  Result<void> output() {
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
    const auto prefix = surroundings_.environment("TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE");
    if (prefix && !prefix->empty()) logs.prefix_template = *prefix;
    if (std::ranges::none_of(logs.tee, &Streams::out))
      no_effect({"duplicate-stdout-filters"}, "without --tee of stdout");
    if (std::ranges::none_of(logs.tee, &Streams::err))
      no_effect({"duplicate-stderr-filters"}, "without --tee of stderr");
    return {};
  }

  Result<void> workers() {
    if (settings_.on("pty") && settings_.on("no-pty"))
      return invalid("--pty and --no-pty exclude each other");
    if (settings_.on("pty")) spec_.pty = Pty::kAlways;
    if (settings_.on("no-pty")) spec_.pty = Pty::kNever;
    spec_.role = settings_["role"].text;
    const std::string& binding = settings_["numa-binding"].text;
    if (binding == "node") spec_.numa_binding = NumaBinding::kNode;
    if (binding == "socket") spec_.numa_binding = NumaBinding::kSocket;
    if (binding == "exclusive") spec_.numa_binding = NumaBinding::kExclusive;
    if (binding == "core-complex") spec_.numa_binding = NumaBinding::kCoreComplex;
    spec_.virtual_local_rank = settings_.on("virtual-local-rank");
    if (const Result<void> warm = warm_start(); !warm) return warm.error();
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

  /// With --virtual-local-rank every worker needs an entry of its own.
  Result<void> enough_devices() {
    const auto list = surroundings_.environment("CUDA_VISIBLE_DEVICES");
    if (!list) return {};
    const auto devices = std::ranges::count(*list, ',') + (list->empty() ? 0 : 1);
    if (devices >= spec_.workers) return {};
    return invalid(
        fmt::format("--virtual-local-rank gives each of the {} workers one GPU, and "
                    "CUDA_VISIBLE_DEVICES '{}' names {}",
                    spec_.workers, *list, devices));
  }

  Result<void> ignored() {
    if (const auto interval = parse_seconds(settings_["monitor-interval"], true); !interval)
      return interval.error();
    for (const Option& option : options())
      if (option.group == OptionGroup::kIgnored) no_effect({option.name}, std::string{option.help});
    return {};
  }

  Result<void> program() {
    const bool script = settings_.on("run-path");
    if (script) no_effect({"module", "no-python"}, "with --run-path");
    const bool module = settings_.on("module") && !script;
    const bool any_program = settings_.on("no-python") && !script;
    if (module && any_program)
      return invalid("-m and --no-python exclude each other: a module is run by Python");
    if (arguments_.launch && any_program && !settings_.on("use-env"))
      return invalid(
          "`ddprun launch --no-python` also needs --use-env: there is no script that takes "
          "--local-rank");
    if (arguments_.script.empty())
      return invalid(std::string{"the script to run is missing: "} + kUsageLine);
    std::vector<std::string> words = arguments_.script;
    spec_.title = words.front();
    if (arguments_.launch && !settings_.on("use-env"))
      words.insert(words.begin() + 1, "--local-rank=${local_rank}");
    return any_program ? run_program(std::move(words)) : run_python(std::move(words), module);
  }

  Result<void> run_program(std::vector<std::string> words) {
    auto program = find_program(words.front(), surroundings_.environment);
    if (!program) return program.error();
    spec_.program = std::move(*program);
    spec_.arguments = std::move(words);
    return {};
  }

  Result<void> run_python(std::vector<std::string> words, bool module) {
    if (!module && !std::filesystem::exists(words.front()))
      return Error{Error::Kind::kNotFound, "there is no script '" + words.front() + "'"};
    auto python = find_python(surroundings_.environment);
    if (!python) return python.error();
    spec_.program = *python;
    spec_.arguments = {std::move(*python), "-u"};
    if (module) spec_.arguments.push_back("-m");
    std::ranges::move(words, std::back_inserter(spec_.arguments));
    return {};
  }

  /// Warns of those options that the command line sets; a variable may be meant for other jobs.
  void no_effect(std::initializer_list<std::string_view> names, const std::string& why) {
    for (const std::string_view name : names)
      if (const Setting& setting = settings_[name];
          setting.given && setting.source.starts_with('-'))
        launch_.warnings.push_back(setting.source + " has no effect: " + why);
  }

  const Arguments& arguments_;
  const Settings& settings_;
  const Surroundings& surroundings_;
  const std::optional<ClusterMeeting> meeting_;
  Launch launch_;
  LaunchSpec& spec_ = launch_.spec;
};

}  // namespace

Result<Launch> interpret(const Arguments& arguments, const Surroundings& surroundings,
                         std::optional<ClusterMeeting> meeting) {
  return Interpreter{arguments, surroundings, std::move(meeting)}.interpret();
}

}  // namespace ddprun
