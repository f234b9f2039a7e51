#include "launcher/settings/program.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "launcher/settings/help_text.hpp"

namespace ddprun {

namespace {

using Words = std::vector<std::string>;

Result<WorkerProgram> any_program(Words words, const Surroundings& surroundings) {
  auto path = surroundings.find_program(words.front());
  if (!path) return path.error();
  return WorkerProgram{"", std::move(*path), std::move(words)};
}

Result<WorkerProgram> python_program(Words words, bool module, const Surroundings& surroundings) {
  if (!module && !surroundings.has_file(words.front())) {
    std::string message = "there is no script '" + words.front() + "'";
    if (surroundings.find_program(words.front()))
      message += "; it is a program in PATH, which --no-python runs";
    return Error{Error::Kind::kNotFound, std::move(message)};
  }
  auto python = find_python(surroundings);
  if (!python) return python.error();
  WorkerProgram program{"", *python, {std::move(*python), "-u"}};
  if (module) program.arguments.emplace_back("-m");
  std::ranges::move(words, std::back_inserter(program.arguments));
  return program;
}

}  // namespace

Result<WorkerProgram> decide_program(const Arguments& arguments, const Surroundings& surroundings) {
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
  auto program = any ? any_program(std::move(words), surroundings)
                     : python_program(std::move(words), module, surroundings);
  if (program) program->title = arguments.script.front();
  return program;
}

Result<std::string> find_python(const Surroundings& surroundings) {
  if (const auto chosen = surroundings.environment("PYTHON_EXEC"); chosen && !chosen->empty())
    return surroundings.find_program(*chosen);
  if (const auto active = surroundings.environment("VIRTUAL_ENV"); active && !active->empty())
    if (auto python = surroundings.find_program(*active + "/bin/python3")) return python;
  if (auto python = surroundings.find_program("python3")) return python;
  if (auto python = surroundings.find_program("python")) return python;
  return Error{Error::Kind::kNotFound,
               "there is no python3 and no python in PATH to run the script with; name one in "
               "PYTHON_EXEC, or use --no-python for a program that is not a Python script"};
}

}  // namespace ddprun
