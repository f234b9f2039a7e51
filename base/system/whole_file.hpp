// Writes a file so that nobody sees half of it.
#pragma once

#include <filesystem>
#include <string>

#include "base/result.hpp"

namespace ddprun {

/// Writes `text` to `path`, so that whoever reads it sees all of it or what was there before.
/// Errors: kUnavailable, with a sentence.
Result<void> write_whole(const std::filesystem::path& path, const std::string& text);

}  // namespace ddprun
