// JobFacts: what an agent writes down of its job, for commands that look for running jobs on its
// machine.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace ddprun {

struct JobFacts {
  std::string run_id;
  std::string title;  // the script
  std::string host;   // this node
  std::int64_t pid = 0;
  std::int64_t started_unix_ms = 0;
  int workers = 0;                // this node's
  std::string run_directory;      // where its log files are; "": it has none
  std::string coordinator;        // "10.0.0.1:29400"
  bool coordinator_here = false;  // in this process
  std::string status_url;         // the status page, with its token; "": there is none
  bool operator==(const JobFacts&) const = default;
};

/// Returns them as JSON, an object in one line.
std::string to_json(const JobFacts& facts);

/// Reads what to_json() has written. What is missing is left empty. Errors: kInvalid.
Result<JobFacts> parse_job_facts(std::string_view json);

}  // namespace ddprun
