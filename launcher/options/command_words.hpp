// Spells out what a user has typed for a command such as `ddprun logs`, so that CLI11 has only to
// read it, and says what is wrong with it in words of our own. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"

namespace CLI {
class App;
}

namespace ddprun {

/// "logs", "checkpoint verify": every message begins with the program's name anyway.
std::string name_in_messages(const CLI::App& app);

/// Returns `words` with each option in its full spelling. As in a command line for a script, it may
/// be cut short as long as it stays unique, and have underscores. Errors: kInvalid, with the
/// command's name, for an option or a command that is not there, an option that is short for
/// several or lacks its value, and arguments that are too many or too few.
Result<std::vector<std::string>> spell_out(const CLI::App& app,
                                           const std::vector<std::string>& words);

}  // namespace ddprun
