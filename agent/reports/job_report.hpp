// JobReport: how a job ended, or how it hangs, for programs: the JSON of --report-file.
// docs/logs-and-failures.md has its schema. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "rendezvous/messages/hang_report.hpp"
#include "rendezvous/messages/job_outcome.hpp"
#include "rendezvous/messages/job_times.hpp"
#include "rendezvous/messages/verdict.hpp"

namespace ddprun {

/// The schema's name and version. Later versions may have more fields.
inline constexpr char kReportSchema[] = "ddprun.report/1";

struct JobReport {
  std::string job;  // its name
  /// kRunning: the report tells of a hang, and another one follows at the end.
  JobOutcome outcome = JobOutcome::kFinished;
  int exit_code = 0;               // no meaning while the job runs
  std::string sentence;            // for people: one line
  std::optional<Verdict> verdict;  // why it failed
  std::optional<HangReport> hang;  // the last one that was not over when the job ended, or now
  std::vector<RestartTimes> restarts;
  std::optional<Goodput> goodput;
};

/// The report as JSON, several lines with their ends. What does not apply is left out.
std::string to_json(const JobReport& report);

}  // namespace ddprun
