// What is said of words that are nearly right.
#include "launcher/commands/command_line.hpp"
#include "tests/launcher/surroundings.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

Result<CommandLine> parsed(const std::vector<std::string>& words) {
  const auto environment = [](const std::string& name) {
    return name == "PATH" ? std::optional<std::string>{"/bin:/usr/bin"} : std::nullopt;
  };
  return parse_command_line(words, surroundings(environment, 2));
}

std::string mistake_in(const std::vector<std::string>& words) {
  const auto read = parsed(words);
  REQUIRE(read.has_error());
  return read.error().message;
}

LaunchSpec spec_of(const std::vector<std::string>& words) {
  const auto read = parsed(words);
  if (!read) FAIL(read.error().message);
  return std::get<Launch>(*read).spec;
}

TEST_CASE("an option that is nearly right is named") {
  CHECK(mistake_in({"--nproc-pre-node=2", "x.py"}) ==
        "there is no option '--nproc-pre-node'; did you mean --nproc-per-node?");
  CHECK(mistake_in({"--max_restrats", "2", "x.py"}) ==
        "there is no option '--max_restrats'; did you mean --max-restarts?");
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

}  // namespace
}  // namespace ddprun
