// Hints: what to do about failures whose texts are known. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ddprun {

/// A hint of one line for a failure that says `text`, which is an exception as Python prints it or
/// some last lines; "" when none is known.
///
/// To add one, add a line to a table in hints.cpp, and a case to tests/rendezvous/verdict/
/// hints_test.cpp.
std::string_view hint_for(std::string_view text);

/// As above, for a chain of failures, the one to be named first. One that does not know its reason
/// ("a data loader process died") gets the hint of another one, where that is known.
std::string_view hint_for(const std::vector<std::string>& chain);

/// As above, for a worker that a signal killed without a word.
std::string_view hint_for_signal(int signal);

}  // namespace ddprun
