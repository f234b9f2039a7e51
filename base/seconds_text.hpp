// A duration in a sentence. Pure.
#pragma once

#include <chrono>
#include <string>

namespace ddprun {

/// "5 s", "2.5 s", "0.35 s".
std::string seconds_text(std::chrono::milliseconds time);

}  // namespace ddprun
