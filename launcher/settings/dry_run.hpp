// --dry-run: what would be started, as lines that a shell can run. Pure.
#pragma once

#include <string>
#include <vector>

#include "agent/worker_plan.hpp"

namespace ddprun {

/// `text` as one word of a POSIX shell.
std::string shell_word(const std::string& text);

/// One command for each worker, with those variables that it has and ddprun has not.
std::string dry_run(const LaunchSpec& spec, NodeFacts node);

}  // namespace ddprun
