// Messages about words that are nearly right.
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "launcher/commands/command_line.hpp"
#include "tests/launcher/local_system.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ddprun {
namespace {

using Words = std::vector<std::string>;

/// `python` is PYTHON_EXEC.
Result<CommandLine> parsed(const std::vector<std::string>& words, const std::string& python = "") {
  const auto environment = [&](const std::string& name) -> std::optional<std::string> {
    if (name == "PYTHON_EXEC") return python;
    return name == "PATH" ? std::optional<std::string>{"/bin:/usr/bin"} : std::nullopt;
  };
  return parse_command_line(words, local_system(environment, 2));
}

std::string mistake_in(const std::vector<std::string>& words) {
  const auto read = parsed(words);
  REQUIRE(read.has_error());
  return read.error().message;
}

class ScriptFolder {
 protected:
  void write(const std::string& name, const std::string& text) {
    std::ofstream{folder_ / name} << text;
  }
  std::string path(const std::string& name) const { return folder_ / name; }

 private:
  ScratchFolder folder_;
};

LaunchSpec spec_of(const std::vector<std::string>& words, const std::string& python = "") {
  const auto read = parsed(words, python);
  if (!read) FAIL(read.error().message);
  return std::get<Launch>(*read).spec;
}

TEST_CASE("an option that is nearly right is named") {
  CHECK(mistake_in({"--nproc-pre-node=2", "x.py"}) ==
        "there is no option '--nproc-pre-node'; did you mean --nproc-per-node?");
  CHECK(mistake_in({"--max_restrats", "2", "x.py"}) ==
        "there is no option '--max_restrats'; did you mean --max-restarts?");
  CHECK(mistake_in({"--status-port", "8080", "x.py"}) ==
        "there is no option '--status-port'; did you mean --status-addr?");
}

TEST_CASE("an option behind one dash is named as it is spelled") {
  CHECK(mistake_in({"-np", "2", "x.py"}) ==
        "there is no option '-np'; did you mean --nproc-per-node?");
  CHECK(mistake_in({"-nproc_per_node=2", "x.py"}) ==
        "there is no option '-nproc_per_node'; did you mean --nproc-per-node?");
  CHECK(mistake_in({"-z", "x.py"}) == "there is no option '-z'");
  CHECK(mistake_in({"-n", "2", "x.py"}) ==
        "there is no option '-n'; did you mean --nproc-per-node?");
  CHECK(mistake_in({"--num_processes=2", "x.py"}) ==
        "there is no option '--num_processes'; did you mean --nproc-per-node?");
  CHECK(mistake_in({"-N", "2", "x.py"}) == "there is no option '-N'; did you mean --nnodes?");
}

TEST_CASE_METHOD(ScriptFolder,
                 "options of ddprun behind the script are the script's, with a line") {
  write("hi.py", "");
  const std::string script = path("hi.py");
  const auto warnings = [&](std::vector<std::string> words) {
    const auto read = parsed(words);
    if (!read) FAIL(read.error().message);
    return std::get<Launch>(*read).warnings;
  };
  CHECK(warnings({script, "--nproc-per-node", "2"}) ==
        Words{"--nproc-per-node behind " + script +
              " goes to the script: options of ddprun come before the script"});
  CHECK(warnings({script, "--rdzv_backend=c10d", "--x", "--rdzv-endpoint", "h0"}) ==
        Words{"--rdzv-backend and --rdzv-endpoint behind " + script +
              " go to the script: options of ddprun come before the script"});
  for (const Words& words :
       {Words{script, "--nproc", "2", "--master-port", "1", "--log-dir", "x", "-r"},
        Words{"--nproc-per-node", "2", script, "--nproc-per-node", "3"},
        Words{script, "--", "--nproc-per-node", "2"},
        Words{script, "nproc-per-node", "--nproc-per-nodes"}})
    CHECK(warnings(words).empty());
}

TEST_CASE("an endpoint that can be no host and port is refused at once") {
  const auto refusal = [](const std::string& endpoint) {
    return mistake_in({"--nnodes=2", "--rdzv-backend=c10d", "--rdzv-endpoint", endpoint, "x.py"});
  };
  CHECK(refusal("tcp://h0:29400") ==
        "--rdzv-endpoint 'tcp://h0:29400': expected HOST, HOST:PORT or [IPv6]:PORT, without "
        "tcp://");
  for (const char* endpoint : {"a b:29400", " h0:29400", "h0/x:29400", "h0:1:2", "-h0:29400",
                               "[h0]x:1", "$HOST:29400", "a:4:8"})
    CHECK(refusal(endpoint) == "--rdzv-endpoint '" + std::string{endpoint} +
                                   "': expected HOST, HOST:PORT or [IPv6]:PORT");
  for (const char* option : {"--master-addr", "--local-addr"})
    CHECK(mistake_in({option, "a b", "x.py"}) ==
          std::string{option} + " 'a b': expected a host name or an address");
  CHECK(mistake_in({"--status-addr", "a b:8080", "x.py"}) ==
        "--status-addr 'a b:8080': expected PORT, HOST:PORT or [IPv6]:PORT");
}

TEST_CASE("an option is not taken for the value that the one before it lacks") {
  CHECK(mistake_in({"--log-dir", "--tee", "3", "x.py"}) ==
        "--log-dir needs a value: DIR (the next word is the option --tee)");
  CHECK(mistake_in({"--local-addr", "--no-python", "true"}) ==
        "--local-addr needs a value: HOST (the next word is the option --no-python)");
  CHECK(mistake_in({"--role", "--nproc_per_node=2", "true"}) ==
        "--role needs a value: NAME (the next word is the option --nproc_per_node=2)");
  CHECK(mistake_in({"--role", "-m", "x"}) ==
        "--role needs a value: NAME (the next word is the option -m)");
}

TEST_CASE("a value may begin like an option where none has its name, and behind '='") {
  const auto role = [](const std::vector<std::string>& options) {
    std::vector<std::string> words = options;
    words.insert(words.end(), {"--no-python", "true"});
    return spec_of(words).role;
  };
  CHECK(role({"--role=--tee"}) == "--tee");
  CHECK(role({"--role", "--mine"}) == "--mine");
  CHECK(role({"--role", "-5"}) == "-5");
  CHECK(role({"--role", "-"}) == "-");
}

TEST_CASE("a choice that is nearly right is named, beside all that there are") {
  CHECK(mistake_in({"--on-hang", "stpo", "x.py"}) ==
        "--on-hang 'stpo': expected one of report, restart, stop; did you mean stop?");
}

TEST_CASE("a command that is nearly right is named, where no script has that name") {
  CHECK(mistake_in({"statsu"}) == "there is no script 'statsu'; did you mean `ddprun status`?");
}

TEST_CASE("a program without --no-python is no script, and the option is named") {
  CHECK(mistake_in({"sh", "-c", "true"}) ==
        "there is no script 'sh'; it is a program in PATH, which --no-python runs");
}

TEST_CASE_METHOD(ScriptFolder, "a script that is nearly right is named, where one is beside it") {
  write("hi.py", "");
  write("train.py", "");
  write("hz.txt", "");
  CHECK(mistake_in({path("hy.py")}) ==
        "there is no script '" + path("hy.py") + "'; did you mean " + path("hi.py") + "?");
  CHECK(mistake_in({path("train")}) ==
        "there is no script '" + path("train") + "'; did you mean " + path("train.py") + "?");
  CHECK(mistake_in({path("other.py")}) == "there is no script '" + path("other.py") + "'");
}

TEST_CASE_METHOD(ScriptFolder, "a script is no module, and what runs it is named") {
  write("train.py", "");
  CHECK(mistake_in({"-m", path("train.py")}) == "-m takes a module, and '" + path("train.py") +
                                                    "' is a script; did you mean `ddprun " +
                                                    path("train.py") + "`?");
  CHECK(spec_of({"-m", path("train")}).arguments.back() == path("train"));
  CHECK(spec_of({"-m", path("package.py")}).arguments.back() == path("package.py"));
}

TEST_CASE_METHOD(ScriptFolder, "a file that Python cannot run is named, with what runs it") {
  write("mine",
        "\x7f"
        "ELF");
  write("job.sh", "#!/bin/bash\n");
  CHECK(mistake_in({path("mine")}) == "'" + path("mine") +
                                          "' is a program, not a Python script: --no-python " +
                                          path("mine") + " runs it");
  CHECK(mistake_in({path("job.sh")}) == "'" + path("job.sh") +
                                            "' is a script for bash, not for Python: "
                                            "--no-python " +
                                            path("job.sh") + " runs it");
  CHECK(spec_of({"--no-python", "/bin/sh", path("job.sh")}).program == "/bin/sh");
}

TEST_CASE_METHOD(ScriptFolder, "whatever PYTHON_EXEC names may run any file") {
  write("job.sh", "#!/bin/bash\n");
  CHECK(spec_of({path("job.sh")}, "/bin/sh").program == "/bin/sh");
}

TEST_CASE_METHOD(ScriptFolder, "an app in a folder or behind a pipe is Python's to read") {
  std::filesystem::create_directory(path("app"));
  REQUIRE(mkfifo(path("pipe").c_str(), 0600) == 0);
  for (const char* name : {"app", "pipe"})
    CHECK(spec_of({path(name)}).arguments.back() == path(name));
}

}  // namespace
}  // namespace ddprun
