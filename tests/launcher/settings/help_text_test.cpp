#include "launcher/settings/help_text.hpp"

#include <sstream>

#include "launcher/commands/subcommands.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

TEST_CASE("the help fits a terminal of 80 columns") {
  std::istringstream lines{help_text(command_help())};
  for (std::string line; std::getline(lines, line);) {
    INFO(line);
    CHECK(line.size() <= 80);
    CHECK_FALSE(line.ends_with(' '));
  }
}

TEST_CASE("the brief help fits a screen, and has ten options and the commands' names") {
  const std::string text = brief_help_text(command_help());
  std::istringstream lines{text};
  std::size_t count = 0, options_shown = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    INFO(line);
    CHECK(line.size() <= 80);
    if (line.starts_with("  -")) ++options_shown;
  }
  CHECK(count <= 40);
  CHECK(options_shown == 10);
  CHECK_THAT(text, contains("Commands for running jobs: ls, status, "));
  CHECK_THAT(text, !contains("--rdzv-conf"));
  CHECK_THAT(brief_help_text({}), !contains("Commands"));
}

TEST_CASE("the help of a command fits 80 columns and ends with examples") {
  std::string about;
  for (int i = 0; i < 30; ++i) about += "words of it ";
  const std::string text = command_help_text({.about = about + "end.",
                                              .usage = "ddprun logs [OPTIONS] RANK",
                                              .groups = {{"Options", {{"--follow", about}}}, {}},
                                              .examples = {"ddprun logs 3"}});
  CHECK_THAT(text, contains("end.\n\nUsage: ddprun logs [OPTIONS] RANK\n\nOptions:\n  --follow  "));
  CHECK(text.ends_with("\n\nExamples:\n  ddprun logs 3\n"));
  std::istringstream lines{text};
  for (std::string line; std::getline(lines, line);) CHECK(line.size() <= 80);
}

TEST_CASE("the help begins with the commands, by group, and hides those that nobody types") {
  const std::string text = help_text(command_help());
  const std::size_t status = text.find("\n  status  ");
  REQUIRE(status != std::string::npos);
  CHECK(text.find("\nCommands for running jobs:\n") < status);
  CHECK(status < text.find("\nOther commands:\n"));
  CHECK(text.find("\nOther commands:\n") < text.find("\nSize:\n"));
  CHECK(text.find("\n  agent ") == std::string::npos);
}

TEST_CASE("no text on a command is wider than its line") {
  const std::string text = help_text(command_help());
  const std::string commands =
      text.substr(text.find("\nCommands for"),
                  text.find("`ddprun COMMAND --help`") - text.find("\nCommands for"));
  CHECK(commands.find("\n   ") == std::string::npos);
  CHECK_THAT(commands, contains("\n  ls           lists "));
}

TEST_CASE("the words on a command's options begin as near as the longest option lets them") {
  const std::string text = command_help_text(
      {.about = "a", .usage = "b", .groups = {{"Options", {{"-c, --bytes N=16384", "how many"}}}}});
  CHECK_THAT(text, contains("\n  -c, --bytes N=16384  how many\n"));
}

TEST_CASE("the help of an option has its default, and its choices where the words have not") {
  const std::string text = help_text({});
  CHECK_THAT(text, contains("  --nproc-per-node N=1        "));
  CHECK_THAT(text, contains("(node, socket,"));
  CHECK_THAT(text, !contains("(report, restart, stop)"));
}

}  // namespace
}  // namespace ddprun
