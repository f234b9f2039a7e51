#include "launcher/settings/options.hpp"

#include <map>

#include "launcher/commands/man_page.hpp"
#include "launcher/commands/subcommands.hpp"
#include "launcher/settings/arguments.hpp"
#include "launcher/settings/help_text.hpp"
#include "launcher/settings/shell_completion.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

/// The settings of a command line of nothing but a script, with these variables.
Settings settings_with(const std::map<std::string, std::string>& variables) {
  const auto arguments = parse_arguments({"train.py"}, [&](const std::string& name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional{found->second};
  });
  REQUIRE(arguments.has_value());
  return arguments->settings;
}

/// A value that is accepted for the option, and is not its default.
std::string some_value(const Option& option) {
  if (option.is_flag()) return "1";
  if (option.choices.empty()) return "value-of-" + std::string{option.name};
  const std::size_t last = option.choices.rfind(' ');
  return std::string{option.choices.substr(last == std::string_view::npos ? 0 : last + 1)};
}

TEST_CASE("every option is read from its variable, and from no other option's") {
  for (const Option& option : options()) {
    INFO(option.name);
    std::string variable = "PET_";
    for (const char c : option.name)
      variable += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    const Settings settings = settings_with({{variable, some_value(option)}});
    for (const Option& other : options()) {
      INFO(other.name);
      const Setting& setting = settings[other.name];
      const bool is_read = other.name == option.name && option.from_environment;
      CHECK(setting.given == is_read);
      if (is_read) CHECK(setting.text == some_value(option));
      if (is_read) CHECK(setting.source == variable);
    }
  }
}

TEST_CASE("only what is about one command line alone is read from no variable") {
  std::string names;
  for (const Option& option : options())
    if (!option.from_environment) names += std::string{option.name} + " ";
  CHECK(names == "use-env export dry-run completion print-completion man version help ");
}

TEST_CASE("another variable of torchrun's sets an option, and its PET_ variable wins") {
  CHECK(settings_with({{"TORCH_ELASTIC_SHUTDOWN_TIMEOUT", "5"}})["shutdown-timeout"].text == "5");
  CHECK(settings_with({{"TORCH_ELASTIC_SHUTDOWN_TIMEOUT", "5"},
                       {"PET_SHUTDOWN_TIMEOUT", "6"}})["shutdown-timeout"]
            .text == "6");
}

TEST_CASE("an empty variable is as good as none") {
  CHECK_FALSE(settings_with({{"PET_ROLE", ""}})["role"].given);
}

TEST_CASE("every option is in the help, the man page and the completions") {
  for (const Option& option : options()) {
    INFO(option.name);
    CHECK_THAT(help_text({}), contains(option.spelling()));
    std::string in_roff;
    for (const char c : option.spelling()) in_roff += c == '-' ? "\\-" : std::string{c};
    CHECK_THAT(man_page(), contains("\\fB" + in_roff + "\\fR"));
    for (const char* shell : {"bash", "zsh"})
      CHECK_THAT(shell_completion(shell, {}), contains(option.spelling()));
    CHECK_THAT(shell_completion("fish", {}), contains("-l " + std::string{option.name}));
    CHECK_THAT(shell_completion("tcsh", {}) + " ", contains(std::string{option.name}));
    if (!option.variable().empty())
      CHECK_THAT(man_page(), contains("\\fB" + option.variable() + "\\fR"));
  }
}

TEST_CASE("every command is in the completions") {
  for (const HelpGroup& group : command_help())
    for (const HelpEntry& command : group.entries)
      for (const char* shell : {"bash", "zsh", "fish", "tcsh"}) {
        INFO(shell << " " << command.word);
        const std::string script = shell_completion(shell, command_help());
        CHECK(script.find(command.word) != std::string::npos);
      }
}

}  // namespace
}  // namespace ddprun
