// The file in which a worker records the exception that ends it; worker_plan.hpp says where it is.
#pragma once

#include <filesystem>
#include <optional>

#include "agent/recorded_error.hpp"

namespace ddprun {

/// Reads the beginning of the file, up to 1 MiB. nullopt when it is not there, is empty, or does
/// not parse.
std::optional<RecordedError> read_error_file(const std::filesystem::path& path);

}  // namespace ddprun
