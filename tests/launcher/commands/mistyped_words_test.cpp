// What is said of words that are nearly right.
#include "launcher/commands/command_line.hpp"
#include "tests/launcher/surroundings.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

std::string mistake_in(const std::vector<std::string>& words) {
  const auto environment = [](const std::string& name) {
    return name == "PATH" ? std::optional<std::string>{"/bin:/usr/bin"} : std::nullopt;
  };
  const auto parsed = parse_command_line(words, surroundings(environment, 2));
  REQUIRE(parsed.has_error());
  return parsed.error().message;
}

TEST_CASE("an option that is nearly right is named") {
  CHECK(mistake_in({"--nproc-pre-node=2", "x.py"}) ==
        "there is no option '--nproc-pre-node'; did you mean --nproc-per-node?");
  CHECK(mistake_in({"--max_restrats", "2", "x.py"}) ==
        "there is no option '--max_restrats'; did you mean --max-restarts?");
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
