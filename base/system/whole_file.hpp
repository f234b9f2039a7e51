// Reads whole files, and writes a file so that no reader sees half of it.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "base/result.hpp"

namespace ddprun {

/// Writes `text` to `path`, so that readers see all of it or what was there before. What is no
/// file, such as a pipe or /dev/null, is written to and stays what it is; a link leads to the file
/// that is written. Errors: kUnavailable, with a sentence.
Result<void> write_whole(const std::filesystem::path& path, const std::string& text);

/// A pipe may never answer, and its reader waits.
enum class ReadFrom { kFiles, kPipesToo };

/// Returns the text of a file of at most `bytes_max` bytes. Errors: kNotFound, kInvalid where it
/// has more bytes, kDenied otherwise; with the reason alone, as "it is a directory".
Result<std::string> read_text(const std::filesystem::path& path, std::size_t bytes_max,
                              ReadFrom from = ReadFrom::kFiles);

/// Returns the text of a small file, as those of the kernel are, of at most 16 MiB; "" where it
/// cannot be read, as when its process has just ended.
std::string text_if_any(const std::filesystem::path& path);

}  // namespace ddprun
