// Tells what a worker says when another one is gone from what it says when something is wrong with
// itself. Pure.
#pragma once

#include <string_view>

namespace ddprun {

/// What is said where others have not come to a collective in time.
inline constexpr std::string_view kCollectiveTimedOut{"a collective timed out"};

/// What the end of another worker has brought about, in a word or two ("connection reset"), where
/// `text` says that; "" where it says anything else. `text` is an exception as Python prints it, or
/// some last lines.
///
/// To add one, add a line to the table in consequences.cpp, and a case to its test.
std::string_view consequence_in(std::string_view text);

}  // namespace ddprun
