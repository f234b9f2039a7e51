// Numbers in sentences for people: how many things, how many bytes, how long. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace ddprun {

/// "1 worker", "2 workers", "0 workers", for a noun whose plural ends in "s".
std::string counted(std::int64_t count, std::string_view noun);

/// "512 B", "64 MiB", "1.5 GiB".
std::string bytes_text(std::int64_t bytes);

/// "5 s", "2.5 s", "0.35 s".
std::string seconds_text(std::chrono::milliseconds time);

}  // namespace ddprun
