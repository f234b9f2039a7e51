// What ddprun does besides running a job: `ddprun server` and the like.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "launcher/run/stage.hpp"

namespace ddprun {

struct Subcommand {
  std::string_view name;  // the first word of the command line
  std::string_view help;  // "": one that no user types
  /// `words`: those behind the name. Returns the exit code, or an Error for the user.
  Result<int> (*run)(const std::vector<std::string>& words, const Stage& stage);
};

std::span<const Subcommand> subcommands();

/// The command that `words` begin with; nullptr: they are about a job to run.
const Subcommand* find_subcommand(const std::vector<std::string>& words);

}  // namespace ddprun
