// choose_job() decides which running job a user means. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "live/jobs/job_facts.hpp"

namespace ddprun {

/// How people call the job of each of these agents: its run id or, where the user has given none,
/// the script and the process id of its first agent, "train.py-4711".
std::vector<std::string> job_names(const std::vector<JobFacts>& jobs);

/// Returns the places in `jobs` of the agents of one job that `word` means: the beginning of its
/// name or of its run id, or the process id of an agent; "" is the only job that there is. Agents
/// that host the coordinator come first. Errors: kNotFound and kInvalid, with a sentence that names
/// the jobs.
Result<std::vector<std::size_t>> choose_job(const std::vector<JobFacts>& jobs,
                                            const std::string& word);

}  // namespace ddprun
