// Writes a file so that nobody sees half of it.
#pragma once

#include <filesystem>
#include <string>

#include "base/result.hpp"

namespace ddprun {

/// Writes `text` to `path`, so that whoever reads it sees all of it or what was there before. What
/// is no file, such as a pipe or /dev/null, is written to and stays what it is; a link leads to the
/// file that is written. Errors: kUnavailable, with a sentence.
Result<void> write_whole(const std::filesystem::path& path, const std::string& text);

}  // namespace ddprun
