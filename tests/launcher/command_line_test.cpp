#include "launcher/command_line.hpp"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "launcher/exit_code.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ddprun {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

// A directory with a script and two interpreters, and an environment that knows only them.
class CommandLineFixture {
 protected:
  CommandLineFixture() {
    write("train.py", 0644);
    fs::create_directories(dir_ / "venv/bin");
    write("python3", 0755);
    write("venv/bin/python3", 0755);
    write("other", 0755);
    environment_["PATH"] = dir_.string();
  }

  void write(const std::string& name, mode_t mode) {
    std::ofstream{dir_ / name} << "#!/bin/sh\n";
    chmod((dir_ / name).c_str(), mode);
  }
  Result<CommandLine> parse(const Words& words) {
    return parse_command_line(words, [this](const std::string& name) {
      const auto found = environment_.find(name);
      return found == environment_.end() ? std::nullopt : std::optional{found->second};
    });
  }
  LaunchSpec spec(const Words& words) {
    const auto parsed = parse(words);
    if (!parsed) FAIL(parsed.error().message);
    return std::get<LaunchSpec>(*parsed);
  }
  std::string error(const Words& words) {
    const auto parsed = parse(words);
    REQUIRE(parsed.has_error());
    return parsed.error().message;
  }
  std::string script() const { return (dir_ / "train.py").string(); }

  ScratchFolder folder_;
  fs::path dir_ = folder_.path();
  std::map<std::string, std::string> environment_;
};

TEST_CASE_METHOD(CommandLineFixture, "a script is run by python -u with all that follows it") {
  const LaunchSpec s = spec({"--standalone", "--nproc-per-node", "2", script(), "--lr", "0.1",
                             "--nproc-per-node", "9", "--", "-h"});
  const std::string python = (dir_ / "python3").string();
  CHECK(s.program == python);
  CHECK(s.arguments ==
        Words{python, "-u", script(), "--lr", "0.1", "--nproc-per-node", "9", "--", "-h"});
  CHECK(s.workers == 2);
}

TEST_CASE_METHOD(CommandLineFixture,
                 "options are taken in both spellings and with an equals sign") {
  CHECK(spec({"--nproc_per_node=3", "--max_restarts=2", script()}).workers == 3);
  CHECK(spec({"--nproc-per-node=3", "--max_restarts=2", script()}).rules.restarts_max == 2);
}

TEST_CASE_METHOD(CommandLineFixture, "a module is run by python -u -m, and need not be a file") {
  const LaunchSpec s = spec({"-m", "my.training", "-m"});
  CHECK(Words(s.arguments.begin() + 1, s.arguments.end()) ==
        Words{"-u", "-m", "my.training", "-m"});
}

TEST_CASE_METHOD(CommandLineFixture, "with --no-python the program itself is run, found in PATH") {
  const LaunchSpec s = spec({"--no-python", "other", "x"});
  CHECK(s.program == (dir_ / "other").string());
  CHECK(s.arguments == Words{"other", "x"});
}

TEST_CASE_METHOD(CommandLineFixture, "after -- a script may look like an option") {
  write("--odd", 0755);
  CHECK(spec({"--no-python", "--", "--odd"}).arguments == Words{"--odd"});
}

TEST_CASE_METHOD(CommandLineFixture, "an active virtual environment's Python comes before PATH's") {
  environment_["VIRTUAL_ENV"] = (dir_ / "venv").string();
  CHECK(spec({script()}).program == (dir_ / "venv/bin/python3").string());
  environment_["PYTHON_EXEC"] = (dir_ / "other").string();
  CHECK(spec({script()}).program == (dir_ / "other").string());
}

TEST_CASE_METHOD(CommandLineFixture, "without any Python the message says how to name one") {
  environment_["PATH"] = (dir_ / "venv").string();
  CHECK_THAT(error({script()}), contains("PYTHON_EXEC"));
}

TEST_CASE_METHOD(CommandLineFixture,
                 "a standalone job has a run id of its own, another one torchrun's") {
  CHECK(spec({"--standalone", "--rdzv-id", "mine", script()}).run_id.empty());
  CHECK(spec({"--rdzv-id", "mine", script()}).run_id == "mine");
  CHECK(spec({script()}).run_id == "none");
}

TEST_CASE_METHOD(CommandLineFixture, "bad values are named with the option and what is accepted") {
  CHECK(error({"--nproc-per-node", "two", script()}) ==
        "--nproc-per-node 'two': expected a whole number from 1 to 65536");
  CHECK(error({"--nproc-per-node", "0", script()}) ==
        "--nproc-per-node '0': expected a whole number from 1 to 65536");
  CHECK(error({"--max-restarts=-1", script()}) ==
        "--max-restarts '-1': expected a whole number from 0 up");
  CHECK_THAT(error({"--shutdown-timeout", "nan", script()}), contains("expected seconds"));
  CHECK_THAT(error({"--nnodes", "2", script()}), contains("--nnodes '2'"));
  CHECK_THAT(error({"-m", "--no-python", "x"}), contains("exclude each other"));
}

TEST_CASE_METHOD(CommandLineFixture, "an unknown option is not taken for the script") {
  CHECK(error({"--bogus", script()}) == "there is no option '--bogus'");
  CHECK_THAT(error({}), contains("the script to run is missing"));
  CHECK_THAT(error({"--nproc-per-node"}), contains("--nproc-per-node"));
}

TEST_CASE_METHOD(CommandLineFixture, "a script or program that is not there is said at once") {
  const auto missing = parse({"nothing.py"});
  REQUIRE(missing.has_error());
  CHECK(missing.error().message == "there is no script 'nothing.py'");
  CHECK(exit_code(missing.error()) == 127);
  CHECK(error({"--no-python", "nothing"}) == "there is no program 'nothing' in PATH");
  const auto not_executable = parse({"--no-python", script()});
  REQUIRE(not_executable.has_error());
  CHECK_THAT(not_executable.error().message, contains("is not executable"));
  CHECK(exit_code(not_executable.error()) == 126);
}

TEST_CASE_METHOD(CommandLineFixture, "help and version are printed, whatever else is there") {
  const auto help = parse({"--nproc-per-node", "2", "--help"});
  REQUIRE(help.has_value());
  CHECK_THAT(std::get<JustPrint>(*help).text, contains("Usage: ddprun [OPTIONS] SCRIPT"));
  CHECK_THAT(std::get<JustPrint>(*help).text, contains("--max-restarts"));
  const auto version = parse({"--version"});
  REQUIRE(version.has_value());
  CHECK_THAT(std::get<JustPrint>(*version).text, contains("ddprun 0."));
}

TEST_CASE("the exit code tells how the job ended") {
  const auto failed = [](ExitStatus status) {
    return AgentEnd{.job = {EndJob::Outcome::kFailed, 0, "", WorkerFailure{.status = status}}};
  };
  CHECK(exit_code(AgentEnd{}) == 0);
  CHECK(exit_code(failed({.code = 3})) == 3);
  CHECK(exit_code(failed({.signal = 11})) == 139);
  CHECK(exit_code(AgentEnd{.job = {EndJob::Outcome::kTimedOut, 0, "", {}}}) == 75);
  CHECK(exit_code(AgentEnd{.why = AgentEnd::Why::kStopSignal, .signal = 15}) == 143);
  CHECK(exit_code(AgentEnd{.why = AgentEnd::Why::kCoordinatorLost}) == 69);
}

}  // namespace
}  // namespace ddprun
