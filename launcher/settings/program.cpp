#include "launcher/settings/program.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "launcher/settings/help_text.hpp"
#include "launcher/settings/values.hpp"
#include "launcher/settings/words.hpp"

namespace ddprun {

namespace {

using Words = std::vector<std::string>;

Result<WorkerProgram> any_program(Words words, const LocalSystem& system) {
  auto path = system.find_program(words.front());
  if (!path) return path.error();
  return WorkerProgram{"", std::move(*path), std::move(words)};
}

/// Returns the script in the same folder that `script` is nearly the name of; "": there is none.
std::string meant_script(const std::string& script, const LocalSystem& system) {
  if (system.has_file(script + ".py")) return script + ".py";
  const std::size_t slash = script.rfind('/') + 1;  // npos + 1 is 0
  auto names = system.names_in(slash == 0 ? "." : script.substr(0, slash));
  std::erase_if(names, [](const std::string& name) { return !name.ends_with(".py"); });
  std::ranges::sort(names);
  const std::string_view meant = closest_word(script.substr(slash), {names.begin(), names.end()});
  return meant.empty() ? "" : script.substr(0, slash) + std::string{meant};
}

Error no_script(const std::string& script, const LocalSystem& system) {
  std::string message = "there is no script '" + script + "'";
  if (system.find_program(script))
    message += "; it is a program in PATH, which --no-python runs";
  else if (const std::string meant = meant_script(script, system); !meant.empty())
    message += "; did you mean " + meant + "?";
  return {Error::Kind::kNotFound, std::move(message)};
}

Result<void> check_script(const std::string& script, const LocalSystem& system) {
  if (!system.has_file(script)) return no_script(script, system);
  const std::string kind = foreign_script(script, system);
  if (kind.empty()) return {};
  return invalid("'" + script + "' is " + kind + ": " + words_for_program(script) + " runs it");
}

/// Python would import "train" of "train.py", and so run it, before it finds that there is no "py".
Result<void> check_module(const std::string& module, const LocalSystem& system) {
  if (!module.ends_with(".py") || !system.has_file(module)) return {};
  return invalid("-m takes a module, and '" + module + "' is a script; did you mean `ddprun " +
                 module + "`?");
}

Result<WorkerProgram> python_program(Words words, bool module, const LocalSystem& system) {
  const auto runs =
      module ? check_module(words.front(), system) : check_script(words.front(), system);
  if (!runs) return runs.error();
  auto python = find_python(system);
  if (!python) return python.error();
  WorkerProgram program{"", *python, {std::move(*python), "-u"}};
  if (module) program.arguments.emplace_back("-m");
  std::ranges::move(words, std::back_inserter(program.arguments));
  return program;
}

}  // namespace

Result<WorkerProgram> decide_program(const Arguments& arguments, const LocalSystem& system) {
  const Settings& settings = arguments.settings;
  const bool script = settings.on("run-path");
  const bool module = settings.on("module") && !script;
  const bool any = settings.on("no-python") && !script;
  if (module && any)
    return invalid("-m and --no-python exclude each other: a module is run by Python");
  if (arguments.launch && any && !settings.on("use-env"))
    return invalid(
        "`ddprun launch --no-python` also needs --use-env: there is no script that takes "
        "--local-rank");
  if (arguments.script.empty())
    return invalid(std::string{"the script to run is missing: "} + kUsageLine);
  Words words = arguments.script;
  if (arguments.launch && !settings.on("use-env"))
    words.insert(words.begin() + 1, "--local-rank=${local_rank}");
  auto program = any ? any_program(std::move(words), system)
                     : python_program(std::move(words), module, system);
  if (program) program->title = arguments.script.front();
  return program;
}

std::string foreign_script(const std::string& script, const LocalSystem& system) {
  const std::string chosen = system.environment("PYTHON_EXEC").value_or("");
  const std::string_view name = std::string_view{chosen}.substr(chosen.rfind('/') + 1);
  if (!name.empty() && name.find("python") == std::string_view::npos) return "";
  return foreign_kind(script, system.file_ends(script));
}

Result<std::string> find_python(const LocalSystem& system) {
  if (const auto chosen = system.environment("PYTHON_EXEC"); chosen && !chosen->empty())
    return system.find_program(*chosen);
  if (const auto active = python_environment(system.environment); !active.path.empty())
    if (auto python = system.find_program(active.path + "/bin/python3")) return python;
  if (auto python = system.find_program("python3")) return python;
  if (auto python = system.find_program("python")) return python;
  return Error{Error::Kind::kNotFound,
               "there is no python3 and no python in PATH to run the script with; name one in "
               "PYTHON_EXEC, or use --no-python for a program that is not a Python script"};
}

PythonEnvironment python_environment(const EnvironmentLookup& environment) {
  const std::string venv = environment("VIRTUAL_ENV").value_or("");
  const std::string conda = environment("CONDA_PREFIX").value_or("");
  if (venv.empty() || conda.empty()) return {venv, ""};
  for (const std::string& folder : split(environment("PATH").value_or(""), ':')) {
    if (folder == venv + "/bin") break;
    if (folder == conda + "/bin") return {conda, venv};
  }
  return {venv, ""};
}

std::map<std::string, std::string> python_variables(const EnvironmentLookup& environment) {
  std::map<std::string, std::string> variables;
  if (const auto chosen = environment("PYTHON_EXEC")) variables["PYTHON_EXEC"] = *chosen;
  const std::string active = python_environment(environment).path;
  if (!active.empty()) variables["VIRTUAL_ENV"] = active;
  return variables;
}

std::string environment_in_doubt(const EnvironmentLookup& environment) {
  const PythonEnvironment active = python_environment(environment);
  if (active.passed.empty() || !environment("PYTHON_EXEC").value_or("").empty()) return "";
  return "scripts run by the Python of " + active.path +
         " (CONDA_PREFIX), which stands in PATH before " + active.passed +
         " (VIRTUAL_ENV); PYTHON_EXEC names another one";
}

}  // namespace ddprun
