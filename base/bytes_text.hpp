// A size in a sentence. Pure.
#pragma once

#include <cstdint>
#include <string>

namespace ddprun {

/// "512 B", "64 MiB", "1.5 GiB".
std::string bytes_text(std::int64_t bytes);

}  // namespace ddprun
