#include "launcher/hosts/hosts_job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "agent/spec/launch_spec.hpp"
#include "launcher/settings/arguments.hpp"
#include "launcher/settings/help_text.hpp"
#include "launcher/settings/options.hpp"
#include "launcher/settings/program.hpp"
#include "launcher/settings/rdzv_conf.hpp"
#include "launcher/settings/restart_options.hpp"
#include "launcher/settings/values.hpp"
#include "launcher/settings/words.hpp"
#include "rendezvous/messages/message_limits.hpp"

namespace ddprun {

namespace {

bool is_variable(const std::string& name) {
  const auto fits = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  return !name.empty() && std::isdigit(static_cast<unsigned char>(name.front())) == 0 &&
         std::ranges::all_of(name, fits);
}

/// Builds the HostsJob; every step reads its settings and fills in its part.
class HostsInterpreter {
 public:
  HostsInterpreter(const Arguments& arguments, const LocalSystem& machine)
      : arguments_{arguments}, settings_{arguments.settings}, machine_{machine} {}

  Result<HostsJob> interpret() {
    for (const auto step : {&HostsInterpreter::read_hosts, &HostsInterpreter::decide_size,
                            &HostsInterpreter::check_values, &HostsInterpreter::decide_ways,
                            &HostsInterpreter::take_exports, &HostsInterpreter::take_secret,
                            &HostsInterpreter::write_words})
      if (const Result<void> done = (this->*step)(); !done) return done.error();
    job_.dry_run = settings_.on("dry-run");
    return std::move(job_);
  }

 private:
  Result<void> read_hosts() {
    const Setting& list = settings_["hosts"];
    const Setting& file = settings_["hostfile"];
    if (list.given && file.given) return invalid("--hosts and --hostfile exclude each other");
    auto hosts = list.given ? parse_hosts(list) : hosts_in_file(file.text);
    if (!hosts) return hosts.error();
    job_.rules.hosts = std::move(*hosts);
    return {};
  }

  Result<std::vector<Host>> hosts_in_file(const std::string& path) const {
    const auto text = machine_.read_text(path);
    if (!text) return Error{text.error().kind, "--hostfile: " + text.error().message};
    return parse_hostfile(*text, path);
  }

  /// All hosts are needed unless --nnodes says otherwise.
  Result<void> decide_size() {
    const int hosts = static_cast<int>(job_.rules.hosts.size());
    NodeRange nodes{hosts, hosts};
    if (const Setting& setting = settings_["nnodes"]; setting.given) {
      const auto range = parse_nodes(setting);
      if (!range) return range.error();
      if (range->max > hosts) return unexpected(setting, fmt::format("there are {} hosts", hosts));
      nodes = *range;
    }
    job_.rules.nodes_min = job_.start.nodes_min = nodes.min;
    job_.start.nodes_max = nodes.max;
    job_.rules.has_successors = nodes.max >= 2 && hosts >= 3;  // a spare votes with two
    const Setting& workers = settings_["nproc-per-node"];
    if (workers.text.find(',') == std::string::npos) return {};
    const auto counts = parse_counts(workers, kWorkersPerNodeMax);
    if (!counts) return counts.error();
    if (static_cast<int>(counts->size()) != hosts)
      return unexpected(workers, fmt::format("expected one number for each of {} hosts", hosts));
    for (int i = 0; i < hosts; ++i)
      if (!job_.rules.hosts[i].slots) job_.rules.hosts[i].slots = (*counts)[i];
    return {};
  }

  /// A mistake is reported here once rather than by every host.
  Result<void> check_values() {
    const auto shutdown = parse_seconds(settings_["shutdown-timeout"]);
    if (!shutdown) return shutdown.error();
    auto signals = parse_signals(settings_["signals-to-handle"]);
    if (!signals) return signals.error();
    const auto restarts = parse_restarts(settings_);
    if (!restarts) return restarts.error();
    if (const auto conf = parse_rdzv_conf(settings_["rdzv-conf"]); !conf) return conf.error();
    const auto port = parse_integer(settings_["master-port"], 0, kPortMax);
    if (!port) return port.error();
    job_.rules.shutdown_timeout = *shutdown;
    job_.stop_signals = std::move(*signals);
    if (const auto fit = check_host_names(settings_, {"master-addr"}); !fit) return fit.error();
    if (settings_["master-addr"].given) job_.start.host = settings_["master-addr"].text;
    if (settings_["master-port"].given) job_.start.port = static_cast<std::uint16_t>(*port);
    if (settings_["rdzv-id"].given) job_.start.run_id = settings_["rdzv-id"].text;
    job_.report_file = settings_["report-file"].text;
    job_.start.reports = !job_.report_file.empty();
    for (const char* name :
         {"standalone", "rdzv-backend", "rdzv-endpoint", "node-rank", "local-addr"})
      warn_no_effect(job_.warnings, settings_[name], "with --hosts");
    for (const Option& option : options())
      if (option.group == OptionGroup::kIgnored)
        warn_no_effect(job_.warnings, settings_[option.name], std::string{option.help});
    if (auto misplaced = misplaced_options(arguments_); !misplaced.empty())
      job_.warnings.push_back(std::move(misplaced));
    return {};
  }

  /// Decides how the hosts are reached, and where ddprun is and works there.
  Result<void> decide_ways() {
    Ssh& ssh = job_.rules.ssh;
    ssh.words = words_of(settings_["ssh-cmd"].text);
    if (ssh.words.empty()) return unexpected(settings_["ssh-cmd"], "expected a command");
    const Setting& path = settings_["remote-path"];
    ssh.remote_path = path.text.empty() ? machine_.own_path() : path.text;
    const Setting& directory = settings_["remote-dir"];
    job_.start.directory = directory.text.empty() ? machine_.working_directory() : directory.text;
    job_.rules.version = DDPRUN_VERSION;
    return {};
  }

  Result<void> take_exports() {
    // Which Python runs scripts, and how much ddprun says, is as the user has it here.
    auto& exported = job_.start.environment;
    exported = python_variables(machine_.environment);
    if (const auto level = machine_.environment("LOGLEVEL")) exported["LOGLEVEL"] = *level;
    for (const std::string& entry : settings_["export"].all) {
      const std::size_t equals = entry.find('=');
      const std::string name = entry.substr(0, equals);
      if (!is_variable(name))
        return invalid("-x '" + name +
                       "': that is no variable's name, expected NAME or NAME=VALUE");
      if (name == kSecretVariable)
        return invalid("-x " + name + ": workers have no use for it, and hosts get it anyway");
      const auto value =
          equals == std::string::npos ? machine_.environment(name) : entry.substr(equals + 1);
      if (value)
        exported[name] = *value;
      else
        job_.warnings.push_back("-x " + name + " has no effect: it is not set here");
    }
    return {};
  }

  Result<void> take_secret() {
    const auto secret = job_secret(settings_, machine_.environment, machine_.read_secret);
    if (!secret) return secret.error();
    if (*secret) job_.start.secret = to_text(**secret);
    job_.makes_secret = !*secret && job_.start.nodes_max > 1 && !wants_open_store(settings_);
    if (*secret && wants_open_store(settings_))
      warn_no_effect(job_.warnings, settings_["store"], kStoreInside);
    return {};
  }

  /// Writes the command line of every host's agent, but for a host's own number of workers.
  Result<void> write_words() {
    if (arguments_.script.empty())
      return invalid(std::string{"the script to run is missing: "} + kUsageLine);
    std::vector<std::string>& words = job_.start.arguments;
    if (arguments_.launch) words.emplace_back("launch");
    for (const Option& option : options()) {
      const Setting& setting = settings_[option.name];
      if (!setting.given || !is_for_hosts(option)) continue;
      if (!option.is_flag())
        words.push_back(option.spelling() + "=" + setting.text);
      else if (settings_.on(option.name))
        words.push_back(option.spelling());
    }
    words.emplace_back("--");
    words.insert(words.end(), arguments_.script.begin(), arguments_.script.end());
    return {};
  }

  static bool is_for_hosts(const Option& option) {
    switch (option.group) {
      case OptionGroup::kProgram:
      case OptionGroup::kWorkers:
      case OptionGroup::kOutput:
      case OptionGroup::kFailure:
        return option.name != "report-file";  // it is written where the user has typed it
      default:
        return option.name == "rdzv-conf" || option.name == "nproc-per-node" ||
               option.name == "store";
    }
  }

  const Arguments& arguments_;
  const Settings& settings_;
  const LocalSystem& machine_;
  HostsJob job_;
};

}  // namespace

bool names_hosts(const Settings& settings) {
  return settings["hosts"].given || settings["hostfile"].given;
}

Result<HostsJob> hosts_job(const Arguments& arguments, const LocalSystem& machine) {
  return HostsInterpreter{arguments, machine}.interpret();
}

HostStart start_of(const HostsJob& job, const StartAgent& order) {
  HostStart start = job.start;
  start.node_rank = order.host;
  start.leads = order.leads;
  if (!order.leads) {
    start.host = order.coordinator.host;
    start.port = order.coordinator.port;
  }
  const auto slots = job.rules.hosts[order.host].slots;
  if (!slots) return start;
  // The host's own number comes behind a "launch", in place of the one for all hosts.
  auto& words = start.arguments;
  const auto end = std::ranges::find(words, "--");
  words.erase(
      std::remove_if(words.begin(), end,
                     [](const std::string& word) { return word.starts_with("--nproc-per-node="); }),
      end);
  words.insert(words.begin() + (words.front() == "launch" ? 1 : 0),
               fmt::format("--nproc-per-node={}", *slots));
  return start;
}

std::string dry_run(const HostsJob& job) {
  std::string out;
  for (int i = 0; i < static_cast<int>(job.rules.hosts.size()); ++i) {
    const Host& host = job.rules.hosts[i];
    out += fmt::format("# node {}: {}\n", i, host.label());
    out += shell_words(ssh_command(job.rules.ssh, host)) + "\n";
    out += "#  told: " + shell_words(start_of(job, {i, i == 0, {}}).arguments) + "\n";
  }
  return out;
}

}  // namespace ddprun
