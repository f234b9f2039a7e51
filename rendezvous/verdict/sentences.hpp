// The sentences in which a verdict tells of a cause. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "rendezvous/messages/verdict.hpp"

namespace ddprun {

/// "train.py:88", from a path; "" without one.
std::string place_text(const Fault& fault);

/// "KeyError at train.py:88 in load_batch: 'x'"; "" where its type is not known.
std::string fault_text(const Fault& fault);

/// One line: "rank 1 on h2 raised KeyError at train.py:88 in load_batch: 'x'". `says` is what is
/// known besides, as its last line.
std::string sentence_of(const Cause& cause, const std::string& says);

/// "failed 3 times at train.py:88 with the same KeyError, no step gained"; `gained` is how many
/// steps the last attempt got further than the first one, -1 when nobody knows.
std::string history_text(int times, const Cause& cause, std::int64_t gained);

}  // namespace ddprun
