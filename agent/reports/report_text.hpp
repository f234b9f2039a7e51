// What a user reads of a job that has ended: one screen, which begins with the failure and its
// place, and says each thing once. Pure.
#pragma once

#include <cstddef>
#include <string>

#include "agent/reports/job_report.hpp"

namespace ddprun {

/// It has at most this many lines.
inline constexpr std::size_t kReportLinesMax = 24;

/// Whether the reader has seen what the worker of the cause wrote.
enum class Output { kShown, kNotShown };

/// The report of a job that did not end well, several lines with their ends: what failed and where,
/// then what is known of it, what followed from it, what to do, and where to look. Control
/// characters in any text are written as their numbers (base/text.hpp).
std::string report_text(const JobReport& report, Output output);

/// The report of a job that may have ended long ago, or goes on, for somebody who has seen nothing
/// of it: with the hang that it was in, and what its restarts cost.
std::string explain_text(const JobReport& report);

}  // namespace ddprun
