// Names that nobody else has.
#pragma once

#include <string>

namespace ddprun {

/// A random UUID of the kernel's.
std::string fresh_id();

}  // namespace ddprun
