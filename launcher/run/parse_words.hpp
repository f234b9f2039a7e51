// Reads the words of a command such as `ddprun top`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "launcher/run/stage.hpp"

namespace CLI {
class App;
}

namespace ddprun {

/// Reads the `words` that follow the command's name into what `app` was told of. Returns nullopt
/// when the command can begin. Otherwise there is nothing more to do, and the value is the exit
/// code (of --help, which is printed), or the error that names the command and the mistake.
std::optional<Result<int>> parse_words(CLI::App& app, const std::vector<std::string>& words,
                                       const Stage& stage);

}  // namespace ddprun
