// The file in which a worker records the exception that ends it; worker_plan.hpp says where it is.
#pragma once

#include <filesystem>
#include <optional>

#include "agent/workers/recorded_error.hpp"

namespace ddprun {

/// A longer record is not read.
inline constexpr std::size_t kErrorFileBytesMax = 1024 * 1024;

/// Reads the file. nullopt when it is not there, is no regular file, is empty, or does not parse. A
/// record that is too long to be read is an error whose message says so.
std::optional<RecordedError> read_error_file(const std::filesystem::path& path);

/// Removes what another worker has left under this name, so that nobody takes it for the record of
/// one that starts now.
void remove_error_file(const std::filesystem::path& path);

}  // namespace ddprun
