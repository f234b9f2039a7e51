// JobReport: how a job ended, for programs: the JSON of --report-file. docs/logs-and-failures.md
// has its schema. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rendezvous/wire/hang_report.hpp"
#include "rendezvous/wire/verdict.hpp"

namespace ddprun {

/// The schema's name and version. Later versions may have more fields.
inline constexpr char kReportSchema[] = "ddprun.report/1";

/// What a restart cost, in milliseconds.
struct RestartReport {
  int round = 0;  // that began with it
  std::string reason;
  double detected_ms = 0;
  double stopped_ms = 0;
  double sealed_ms = 0;
  double started_ms = 0;
  double first_step_ms = 0;
};

struct GoodputReport {
  double wall_s = 0;
  double training_s = 0;
  double restarts_s = 0;
  std::int64_t lost_steps = 0;
};

struct JobReport {
  enum class Outcome { kFinished, kFailed, kHung, kPreempted, kStopped, kTooFewNodes };
  std::string job;  // its name
  Outcome outcome = Outcome::kFinished;
  int exit_code = 0;
  std::string sentence;            // for people: one line
  std::optional<Verdict> verdict;  // why it failed
  std::optional<HangReport> hang;  // the last one that was not over when the job ended
  std::vector<RestartReport> restarts;
  std::optional<GoodputReport> goodput;
};

/// The report as JSON, several lines with their ends. What does not apply is left out.
std::string to_json(const JobReport& report);

}  // namespace ddprun
