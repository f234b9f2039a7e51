// The lines that tell a user which workers hang. Pure.
#pragma once

#include <string>
#include <vector>

#include "rendezvous/messages/hang_report.hpp"

namespace ddprun {

/// At most 24 lines without their ends: the sentence, and for each group of workers what they do
/// and their innermost frames. Missing ones come first, and have the most frames.
std::vector<std::string> hang_lines(const HangReport& report);

}  // namespace ddprun
