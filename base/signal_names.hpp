// Signals by their names. The C library has such a table only since glibc 2.32, musl has none.
#pragma once

#include <optional>
#include <string_view>

namespace ddprun {

/// Returns the name of a signal of signal(7) without its "SIG", as "SEGV"; "" for a number without
/// one.
std::string_view signal_abbreviation(int signal);

/// Returns the number of such a name, as 11 for "SEGV"; nothing when no signal is called that.
std::optional<int> signal_of_abbreviation(std::string_view abbreviation);

}  // namespace ddprun
