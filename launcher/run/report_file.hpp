// Writes the report of a job's end to its files.
#pragma once

#include <filesystem>
#include <vector>

#include "agent/reports/job_report.hpp"
#include "base/result.hpp"

namespace ddprun {

/// Writes the report to each of `files`, and returns why some of them cannot be written.
std::vector<Error> try_to_write_report(const JobReport& report,
                                       const std::vector<std::filesystem::path>& files);

/// As above, and warns of those.
void write_report(const JobReport& report, const std::vector<std::filesystem::path>& files);

}  // namespace ddprun
