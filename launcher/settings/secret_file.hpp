// Reads a secret from a file that no other user can read.
#pragma once

#include <string>

#include "base/result.hpp"
#include "rendezvous/transport/secret.hpp"

namespace ddprun {

/// Reads the secret in the file `path`. It has to be a file of this process's user that no other
/// user may read or write, and no symbolic link; so it is opened first, and what was opened is
/// looked at. Errors: kInvalid, with a sentence that names the file and what to do.
Result<Secret> read_secret_file(const std::string& path);

/// Reads the file `name` in the open directory `directory`; `path` is its path for messages.
Result<Secret> read_secret_at(int directory, const std::string& name, const std::string& path);

}  // namespace ddprun
