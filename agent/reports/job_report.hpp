// JobReport: how a job ended, or how it hangs, for programs: the JSON of --report-file.
// docs/report-file.md has its schema. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/reports/changes.hpp"
#include "base/failure.hpp"
#include "base/result.hpp"
#include "rendezvous/messages/hang_report.hpp"
#include "rendezvous/messages/job_outcome.hpp"
#include "rendezvous/messages/job_times.hpp"
#include "rendezvous/messages/verdict.hpp"

namespace ddprun {

/// A hang that is over.
struct PastHang {
  HangReport hang;
  std::int64_t lasted_ms = -1;  // -1: until a new round began
  bool operator==(const PastHang&) const = default;
};
/// A report has at most this many, the last ones.
inline constexpr std::size_t kPastHangsMax = 8;

/// The checkpoint that this node's workers found when a round began (--checkpoints).
struct ContinuedRound {
  int round = 0;
  std::string checkpoint;            // its name
  std::int64_t bytes_from_disk = 0;  // 0: all of it was in memory
  std::string failing;               // a newer one, which failed alike each time that it was loaded
  bool operator==(const ContinuedRound&) const = default;
};

/// The schema's name and version. Later versions may have more fields.
inline constexpr char kReportSchema[] = "ddprun.report/1";

struct JobReport {
  std::string job;  // its name
  /// kRunning: the report tells of a hang, and another one follows at the end.
  JobOutcome outcome = JobOutcome::kFinished;
  int exit_code = 0;               // no meaning while the job runs
  std::string sentence;            // for people: one line
  std::optional<Verdict> verdict;  // why it failed
  /// The worker of the cause; nullopt: it is no worker's, or no more is known of it.
  std::optional<WorkerFailure> worker;
  std::string log_file;        // the file with the output of the cause; "": not known
  int restarts_used = 0;       // restarts that --max-restarts counts
  int restarts_max = 0;        // --max-restarts
  std::string restart_budget;  // as it was spelled, where it is no plain number: "3/1h"
  /// Which nodes the last round was begun without, and why; or with, as too few others were there;
  /// "": nothing was against any.
  std::string node_note;
  std::optional<HangReport> hang;  // the last one that was not over when the job ended, or now
  std::vector<PastHang> past_hangs;
  std::vector<RestartTimes> restarts;
  std::vector<ContinuedRound> continued;  // the last kRestartsToldMax
  std::optional<Goodput> goodput;
  /// What differs from the last good run of the script; nullopt: none is known here.
  std::optional<SinceGoodRun> changed;
};

/// The report as JSON, several lines with their ends. What does not apply is left out.
std::string to_json(const JobReport& report);

/// Reads what to_json() has written. What a later release may have added is passed over. Errors:
/// kInvalid, with a sentence that names what does not fit.
Result<JobReport> parse_report(std::string_view text);

}  // namespace ddprun
