// The texts that `ddprun --help` and `ddprun -h` print: commands, options and examples, for a
// terminal of 80 columns. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ddprun {

inline constexpr char kUsageLine[] = "ddprun [OPTIONS] SCRIPT [ARGUMENTS of the script...]";

/// What is written, and what it does.
struct HelpEntry {
  std::string word;
  std::string text;
};

struct HelpGroup {
  std::string_view title;
  std::vector<HelpEntry> entries;
};

/// What `ddprun COMMAND --help` tells.
struct CommandHelp {
  std::string about;  // paragraphs, of any width
  std::string usage;  // "ddprun logs [OPTIONS] JOB RANK"
  std::vector<HelpGroup> groups;
  std::vector<std::string> examples;
};

/// Returns that text.
std::string command_help_text(const CommandHelp& command);

/// Returns the whole text of `ddprun --help`. `commands` come first, because users do not find them
/// otherwise.
std::string help_text(const std::vector<HelpGroup>& commands);

/// Returns the text of `ddprun -h`, which fits on a screen: the options of the first day, and the
/// names of the commands.
std::string brief_help_text(const std::vector<HelpGroup>& commands);

}  // namespace ddprun
