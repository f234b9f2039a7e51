// Notices options of ddprun that stand behind the script, where they are the script's. Pure.
#pragma once

#include <string>

#include "launcher/settings/arguments.hpp"

namespace ddprun {

/// Returns a sentence on those options behind the script that were surely meant for ddprun; "":
/// there are none. An option that ddprun has as well is the script's own.
std::string misplaced_options(const Arguments& arguments);

}  // namespace ddprun
