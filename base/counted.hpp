// A number of things in a sentence. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ddprun {

/// "1 worker", "2 workers", "0 workers", for a noun whose plural ends in "s".
std::string counted(std::int64_t count, std::string_view noun);

}  // namespace ddprun
