// Raises the limit of open files: every worker and every host needs some, and most users' limit is
// 1024.
#pragma once

#include <sys/resource.h>

#include <string>

#include "base/result.hpp"

namespace ddprun {

/// Raises this process's limit as far as the system allows (RLIMIT_NOFILE, getrlimit(2)). Errors:
/// kUnavailable, when that is not enough for `whose` ("64 workers") `files` beside ddprun's own.
Result<void> raise_file_limit(const std::string& whose, std::size_t files);

/// The limit as it is now.
std::size_t file_limit();

/// The limit before raise_file_limit(), which workers start with, as programs that use select(2)
/// break above 1024; nullptr when it was not raised.
const rlimit* original_file_limit();

}  // namespace ddprun
