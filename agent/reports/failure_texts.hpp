// shorten_texts(): cuts what is known of a failed worker to what one message to the coordinator may
// carry. A worker chooses most of these texts, and no length of an exception, and no control
// characters in it, may suppress the report of the failure. Pure.
#pragma once

#include <cstddef>

#include "base/failure.hpp"

namespace ddprun {

/// The longest that the message and the traceback of a failure may be, and all its last lines
/// together. As JSON each can take twice as much.
inline constexpr std::size_t kFailureTextBytesMax = 16 * 1024;

/// The longest that a short text of a failure may be, as the name of its host.
inline constexpr std::size_t kFailureWordBytesMax = 1024;

/// Makes all texts of `failure` printable (base/text.hpp) and cuts those that are too long: of
/// the message the beginning stays, of the traceback and of the last lines the end. Files keep
/// their exact names, because they are looked for; a name is forgotten when it is too long: no
/// system call takes one of PATH_MAX bytes. `most` stands for kFailureTextBytesMax.
void shorten_texts(WorkerFailure& failure, std::size_t most = kFailureTextBytesMax);

}  // namespace ddprun
