// Writes the report of a job's end to its files.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "agent/reports/job_report.hpp"
#include "base/result.hpp"

namespace ddprun {

/// Writes the report to each of `files`, and warns of those that cannot be written.
void write_report(const JobReport& report, const std::vector<std::filesystem::path>& files);

/// Writes `text` to `path`, so that whoever reads it sees all of it or what was there before.
/// Errors: kUnavailable, with a sentence.
Result<void> write_whole(const std::filesystem::path& path, const std::string& text);

}  // namespace ddprun
