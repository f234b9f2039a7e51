// naturally_before(): the order in which people write host names, node2 before node10.
#pragma once

#include <string_view>

namespace ddprun {

/// Whether `a` comes before `b` when runs of digits count as numbers and leading zeros do not.
bool naturally_before(std::string_view a, std::string_view b);

}  // namespace ddprun
