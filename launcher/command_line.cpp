#include "launcher/command_line.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <limits>
#include <memory>

namespace ddprun {

namespace {

/// The options as the user gave them, with their defaults.
struct Options {
  std::string nnodes = "1";
  std::string nproc_per_node = "1";
  std::string max_restarts = "0";
  std::string rdzv_id = "none";
  std::string role = "default";
  std::string shutdown_timeout = "30";
  bool standalone = false;
  bool module = false;
  bool no_python = false;
  bool version = false;
};

constexpr char kUsageLine[] = "ddprun [OPTIONS] SCRIPT [ARGUMENTS of the script...]";

/// One spelling of every option, one blank line between groups.
struct HelpFormatter : CLI::Formatter {
  std::string make_usage(const CLI::App*, std::string) const override {
    return std::string{"\nUsage: "} + kUsageLine + "\n\n";
  }
  std::string make_group(std::string group, bool is_positional,
                         std::vector<const CLI::Option*> options) const override {
    std::string out = group + ":\n";
    for (const CLI::Option* option : options) out += make_option(option, is_positional);
    return out;
  }
  std::string make_option_name(const CLI::Option* option, bool) const override {
    const auto& shorts = option->get_snames();
    return (shorts.empty() ? "" : "-" + shorts.front() + ",") + "--" + option->get_lnames().front();
  }
};

constexpr char kExamples[] =
    "Examples:\n"
    "  ddprun --standalone --nproc-per-node 2 train.py --epochs 10\n"
    "  ddprun --standalone --nproc-per-node 2 --max-restarts 3 -m my.training\n"
    "  ddprun --standalone --nproc-per-node 2 --no-python ./train_digits\n"
    "\n"
    "Everything after SCRIPT belongs to the script. Every option is also spelled with\n"
    "underscores (--nproc_per_node), as torchrun's are.";

void add_options(CLI::App& app, Options& options) {
  const auto value = [&](const char* names, std::string& target, const char* kind, const char* help,
                         const char* group) {
    app.add_option(names, target, help)->type_name(kind)->capture_default_str()->group(group);
  };
  value("--nproc-per-node,--nproc_per_node", options.nproc_per_node, "N", "workers on this node",
        "Size");
  value("--nnodes", options.nnodes, "N", "nodes; this version runs jobs on one", "Size");
  app.add_flag("--standalone", options.standalone,
               "one node that needs nobody else: own free port, own run id")
      ->group("Size");
  app.add_flag("-m,--module", options.module, "SCRIPT is a Python module, as in python -m")
      ->group("Program");
  app.add_flag("--no-python,--no_python", options.no_python, "SCRIPT is any program")
      ->group("Program");
  value("--max-restarts,--max_restarts", options.max_restarts, "N",
        "restarts of all workers after a failure", "Failure");
  value("--shutdown-timeout,--shutdown_timeout", options.shutdown_timeout, "SECONDS",
        "from SIGTERM to SIGKILL when workers are stopped", "Failure");
  value("--rdzv-id,--rdzv_id", options.rdzv_id, "ID", "name of the job (TORCHELASTIC_RUN_ID)",
        "Job");
  value("--role", options.role, "NAME", "role of the workers (ROLE_NAME)", "Job");
  app.set_help_flag("-h,--help", "print this help")->group("Help");
  app.add_flag("--version", options.version, "print the version")->group("Help");
}

Error usage(std::string message) { return {Error::Kind::kInvalid, std::move(message)}; }

Result<int> parse_integer(const std::string& option, const std::string& text, int least, int most) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc{} && end == text.data() + text.size() && value >= least && value <= most)
    return value;
  std::string expected = "a whole number from " + std::to_string(least);
  if (most < std::numeric_limits<int>::max()) expected += " to " + std::to_string(most);
  return usage(option + " '" + text + "': expected " + expected +
               (most == std::numeric_limits<int>::max() ? " up" : ""));
}

Result<std::chrono::milliseconds> parse_seconds(const std::string& option,
                                                const std::string& text) {
  constexpr double kSecondsMax = 30.0 * 86'400;
  double seconds = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc{} || end != text.data() + text.size() || !(seconds >= 0) ||
      seconds > kSecondsMax)
    return usage(option + " '" + text + "': expected seconds, from 0 to 2592000 (30 days)");
  return std::chrono::milliseconds{static_cast<std::int64_t>(seconds * 1000)};
}

/// The words after the options: script and its arguments.
Result<std::vector<std::string>> script_words(const CLI::App& app) {
  std::vector<std::string> words = app.remaining();
  if (!words.empty() && words.front() == "--") {
    words.erase(words.begin());
  } else if (!words.empty() && words.front().starts_with("-") && words.front() != "-") {
    return usage("there is no option '" + words.front() + "'");
  }
  if (words.empty()) return usage(std::string{"the script to run is missing: "} + kUsageLine);
  return words;
}

Result<void> choose_program(LaunchSpec& spec, const Options& options,
                            std::vector<std::string> words, const EnvironmentLookup& environment) {
  if (options.no_python) {
    auto program = find_program(words.front(), environment);
    if (!program) return program.error();
    spec.program = *program;
    spec.arguments = std::move(words);
    return {};
  }
  if (!options.module && !std::filesystem::exists(words.front()))
    return Error{Error::Kind::kNotFound, "there is no script '" + words.front() + "'"};
  auto python = find_python(environment);
  if (!python) return python.error();
  spec.program = *python;
  spec.arguments = {*python, "-u"};
  if (options.module) spec.arguments.push_back("-m");
  spec.arguments.insert(spec.arguments.end(), words.begin(), words.end());
  return {};
}

Result<CommandLine> to_spec(const Options& options, const CLI::App& app,
                            const EnvironmentLookup& environment) {
  if (options.version) return CommandLine{JustPrint{"ddprun " DDPRUN_VERSION "\n"}};
  if (options.module && options.no_python)
    return usage("-m and --no-python exclude each other: a module is run by Python");
  if (options.nnodes != "1" && options.nnodes != "1:1")
    return usage("--nnodes '" + options.nnodes +
                 "': this version runs jobs on one node, expected 1");
  const auto workers =
      parse_integer("--nproc-per-node", options.nproc_per_node, 1, kWorkersPerNodeMax);
  if (!workers) return workers.error();
  const auto restarts =
      parse_integer("--max-restarts", options.max_restarts, 0, std::numeric_limits<int>::max());
  if (!restarts) return restarts.error();
  const auto shutdown = parse_seconds("--shutdown-timeout", options.shutdown_timeout);
  if (!shutdown) return shutdown.error();
  auto words = script_words(app);
  if (!words) return words.error();

  LaunchSpec spec;
  spec.workers = *workers;
  spec.rules.restarts_max = *restarts;
  spec.shutdown_timeout = *shutdown;
  spec.run_id = options.standalone ? "" : options.rdzv_id;
  spec.role = options.role;
  const auto chosen = choose_program(spec, options, std::move(*words), environment);
  if (!chosen) return chosen.error();
  return CommandLine{std::move(spec)};
}

}  // namespace

Result<CommandLine> parse_command_line(const std::vector<std::string>& arguments,
                                       const EnvironmentLookup& environment) {
  CLI::App app{
      "Runs a distributed training on every node: starts its workers, watches them, and\n"
      "restarts them when one fails.",
      "ddprun"};
  Options options;
  add_options(app, options);
  app.prefix_command();  // from the first word that is no option on, all belongs to the script
  app.formatter(std::make_shared<HelpFormatter>());
  app.footer(kExamples);
  try {
    app.parse(std::vector<std::string>{arguments.rbegin(), arguments.rend()});
  } catch (const CLI::CallForHelp&) {
    return CommandLine{JustPrint{app.help()}};
  } catch (const CLI::ParseError& e) {
    return usage(e.what());
  }
  return to_spec(options, app, environment);
}

}  // namespace ddprun
