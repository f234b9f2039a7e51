// Tells what a worker says when another one is gone from what it says when something is wrong with
// itself. Pure.
#pragma once

#include <string_view>

#include "rendezvous/messages/verdict.hpp"

namespace ddprun {

/// Returns the consequence of another worker's end that `text` tells of; kNone where it tells of
/// anything else. `text` is an exception as Python prints it, or some last lines.
///
/// To add one, add a line to the table in consequences.cpp, and a case to its test.
Consequence consequence_in(std::string_view text);

/// A consequence for people, in a few words: "connection reset".
std::string_view text_of(Consequence consequence);

}  // namespace ddprun
