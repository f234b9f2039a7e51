// Writes the report of a job's end to its files.
#pragma once

#include <filesystem>
#include <vector>

#include "agent/reports/job_report.hpp"

namespace ddprun {

/// Writes the report to each of `files`, and warns of those that cannot be written.
void write_report(const JobReport& report, const std::vector<std::filesystem::path>& files);

}  // namespace ddprun
