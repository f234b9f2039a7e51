#include "launcher/settings/program.hpp"

#include "launcher/commands/command_line.hpp"
#include "tests/launcher/local_system.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

/// A machine with a virtual environment and one of conda, both with a Python.
class TwoEnvironments {
 protected:
  EnvironmentLookup lookup() const {
    return [this](const std::string& name) {
      const auto found = variables_.find(name);
      return found == variables_.end() ? std::nullopt : std::optional{found->second};
    };
  }
  std::string python(const std::string& path) {
    variables_["PATH"] = path;
    LocalSystem here;
    here.environment = lookup();
    here.find_program = [](const std::string& name) { return Result<std::string>{name}; };
    return find_python(here).value();
  }
  std::vector<std::string> warnings(const std::vector<std::string>& words) {
    const auto parsed = parse_command_line(words, local_system(lookup(), 1));
    if (!parsed) FAIL(parsed.error().message);
    return std::get<Launch>(*parsed).warnings;
  }

  std::map<std::string, std::string> variables_{{"VIRTUAL_ENV", "/venv"},
                                                {"CONDA_PREFIX", "/conda"}};
};

TEST_CASE_METHOD(TwoEnvironments, "of two active environments, the first in PATH runs scripts") {
  CHECK(python("/conda/bin:/usr/bin:/venv/bin") == "/conda/bin/python3");
  CHECK(python_variables(lookup()).at("VIRTUAL_ENV") == "/conda");
  CHECK(environment_in_doubt(lookup()) ==
        "scripts run by the Python of /conda (CONDA_PREFIX), which stands in PATH before /venv "
        "(VIRTUAL_ENV); PYTHON_EXEC names another one");
  for (const char* path : {"/venv/bin:/conda/bin", "/usr/bin", ""}) {
    CHECK(python(path) == "/venv/bin/python3");
    CHECK(python_variables(lookup()).at("VIRTUAL_ENV") == "/venv");
    CHECK(environment_in_doubt(lookup()).empty());
  }
}

TEST_CASE_METHOD(TwoEnvironments, "an environment of conda alone is found by PATH") {
  variables_.erase("VIRTUAL_ENV");
  CHECK(python("/conda/bin") == "python3");
  CHECK(python_variables(lookup()).empty());
}

TEST_CASE_METHOD(TwoEnvironments, "PYTHON_EXEC leaves no doubt") {
  variables_["PYTHON_EXEC"] = "/other/python3";
  CHECK(python("/conda/bin:/venv/bin") == "/other/python3");
  CHECK(python_variables(lookup()).at("PYTHON_EXEC") == "/other/python3");
  CHECK(environment_in_doubt(lookup()).empty());
}

TEST_CASE_METHOD(TwoEnvironments, "a message says once which of two environments runs a module") {
  variables_["PATH"] = "/conda/bin:/venv/bin:/usr/bin:/bin";
  if (find_python(local_system(lookup(), 1)))
    CHECK(warnings({"-m", "train"}) == std::vector{environment_in_doubt(lookup())});
  CHECK(warnings({"--no-python", "/bin/true"}).empty());
}

}  // namespace
}  // namespace ddprun
