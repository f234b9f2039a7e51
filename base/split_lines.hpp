// The lines of a text. Pure.
#pragma once

#include <string>
#include <vector>

namespace ddprun {

/// Returns the lines without their ends. The last one may have no end.
std::vector<std::string> split_lines(const std::string& text);

}  // namespace ddprun
