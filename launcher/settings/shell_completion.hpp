// Makes scripts by which shells complete ddprun's command line, from the table of options and the
// list of commands. What follows a command is asked of `ddprun COMMAND --help` and `ddprun ls`
// while somebody types.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "launcher/settings/help_text.hpp"

namespace ddprun {

/// Returns the script for `shell`: bash (https://www.gnu.org/software/bash/manual, "Programmable
/// Completion"), zsh (zshcompsys(1)), fish (complete(1)) or tcsh (tcsh(1), "complete").
/// `commands` are those that a first word may be.
std::string shell_completion(std::string_view shell, const std::vector<HelpGroup>& commands);

}  // namespace ddprun
