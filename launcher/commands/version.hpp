// Tells which ddprun this is: for people, for reports of bugs, and for tools that look at it.
#pragma once

#include <string>

namespace ddprun {

/// Returns lines of text. The first is "ddprun VERSION (commit COMMIT)", and will stay so. The
/// others tell how this executable was built.
std::string version_text();

}  // namespace ddprun
