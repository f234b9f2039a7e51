// How a job's status looks in a terminal. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "live/jobs/job_facts.hpp"
#include "rendezvous/messages/job_status.hpp"

namespace ddprun {

/// How a text is to look.
struct TextStyle {
  bool color = false;
  int columns = 0;  // lines are cut there; 0: never
  int lines = 0;    // the most lines, of the ranks' table the rest is left out; 0: any number
};

/// A job as `ddprun ls` lists it.
struct JobLine {
  std::string name;  // job_names()
  JobFacts facts;
  std::optional<JobStatus> status;  // nullopt: it does not answer
};

/// A table with a line for each job, with headings.
std::string jobs_table(const std::vector<JobLine>& jobs, std::int64_t now_unix_ms,
                       const TextStyle& style);

/// All that is known of a job: its state and progress, a hang, its nodes, the ranks that stand out
/// and the last rounds.
std::string status_text(const JobStatus& status, const TextStyle& style);

/// "14 s", "5 min", "7 h 10 min", "9 d": for people, in whole units.
std::string duration_text(std::int64_t seconds);

/// "1,234", "0.31", "4.3e-05": about four digits.
std::string amount_text(double value);

}  // namespace ddprun
