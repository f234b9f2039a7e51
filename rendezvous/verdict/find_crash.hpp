// find_crash() chooses, of all that a worker wrote, what it ended with. Pure.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/failure.hpp"
#include "rendezvous/verdict/crash.hpp"

namespace ddprun {

/// Whether what begins at that offset of the text was written shortly before the worker ended.
using WrittenLate = std::function<bool(std::size_t offset)>;

/// The crash in the last of a stream's text that explains an end with `status`; nullopt when there
/// is none. A traceback that a program has printed and gone on from does not explain its end: how
/// much it wrote behind it, and how long before its end, tells the one from the other.
std::optional<Crash> find_crash(
    std::string_view text, const ExitStatus& status,
    const WrittenLate& written_late = [](std::size_t) { return false; });

/// As above, for a text that is one exception's, as its record has it: the last traceback counts.
std::optional<Crash> find_recorded_crash(std::string_view traceback);

/// The last line of the text that says something; "" when there is none.
std::string last_words(std::string_view text);

}  // namespace ddprun
