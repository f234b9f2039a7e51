// What a user reads of a job that has ended: one screen, which begins with the failure and its
// place, and says each thing once. Pure.
#pragma once

#include <cstddef>
#include <string>

#include "agent/reports/job_report.hpp"
#include "rendezvous/messages/job_times.hpp"

namespace ddprun {

/// "round 1 → 2 (node h2 lost): noticed 4.0 ms, stopped 31 ms, ..., first step 1.9 s".
std::string times_text(const RestartTimes& times);

/// "100.0 s in all, 2.0 s of start-up, 97.0 s in training, 1.0 s in 2 restarts: goodput 99.0
/// %". What is not known, and what there was not, is left out.
std::string times_text(const Goodput& times);

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
