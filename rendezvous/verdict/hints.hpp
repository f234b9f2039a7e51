// Hints: what to do about failures whose texts are known. Pure.
#pragma once

#include <string_view>

namespace ddprun {

/// A hint of one line for a failure that says `text`, which is an exception as Python prints it or
/// some last lines; "" when nobody knows one.
///
/// To add one, add a line to the table in hints.cpp, and a case to tests/rendezvous/verdict/
/// hints_test.cpp.
std::string_view hint_for(std::string_view text);

/// As above, for a worker that a signal killed without a word.
std::string_view hint_for_signal(int signal);

}  // namespace ddprun
