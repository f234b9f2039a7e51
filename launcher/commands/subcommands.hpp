// Lists what ddprun does besides running a job: `ddprun server` and the like.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "launcher/run/command_context.hpp"
#include "launcher/settings/help_text.hpp"

namespace ddprun {

/// A command with a name of its own.
struct Subcommand {
  std::string_view group;  // the heading under which --help shows it
  std::string_view name;   // the first word of the command line
  std::string_view help;   // "": no help shows it
  /// Carries it out with the words behind its name. Returns the exit code, or an Error for the
  /// user.
  Result<int> (*run)(const std::vector<std::string>& words, const CommandContext& context);
};

/// Returns all of them, group by group, in the order in which --help shows them.
std::span<const Subcommand> subcommands();

/// Whether the program is called torchrun or ddprun-torchrun, by a link. `program` is the name by
/// which it was called, with or without a folder. Then there are no commands.
bool stands_in_for_torchrun(std::string_view program);

/// Returns those that --help shows.
std::vector<HelpGroup> command_help();

/// Returns the name of the command that somebody has meant by `word`; "": none is close to it.
std::string_view meant_command(std::string_view word);

/// Returns the command that `words` begin with; nullptr when they are about a job to run. `program`
/// is the name by which this program was called, with or without a folder. Called torchrun or
/// ddprun-torchrun, by a link, it has no commands: there a first word "server" is a script, as with
/// torchrun. So is "help" anywhere, if there is such a file.
const Subcommand* find_subcommand(std::string_view program, const std::vector<std::string>& words);

}  // namespace ddprun
