// Makes scripts by which shells complete ddprun's command line, from the table of options.
#pragma once

#include <string>
#include <string_view>

namespace ddprun {

/// Returns the script for `shell`: bash (https://www.gnu.org/software/bash/manual, "Programmable
/// Completion"), zsh (zshcompsys(1)), fish (complete(1)) or tcsh (tcsh(1), "complete").
std::string shell_completion(std::string_view shell);

}  // namespace ddprun
