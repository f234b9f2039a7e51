#include "launcher/live/job_choice.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/parse_number.hpp"
#include "base/printable.hpp"

namespace ddprun {

namespace {

/// Jobs without a run id of their own are all called "none". Agents of one of them name the same
/// port of its coordinator, by whatever name of its host.
using JobName = std::pair<std::string, std::string>;
JobName key_of(const JobFacts& facts) {
  return {facts.run_id, facts.coordinator.substr(facts.coordinator.rfind(':') + 1)};
}

std::string names_of(const std::vector<JobFacts>& jobs, const std::set<JobName>& keys) {
  std::string text;
  for (const JobFacts& job : jobs)
    if (keys.contains(key_of(job)))
      text += fmt::format("{}'{}' (process {})", text.empty() ? "" : ", ", plain_line(job.run_id),
                          job.pid);
  return text;
}

std::vector<std::size_t> agents_of(const std::vector<JobFacts>& jobs, const JobName& key) {
  std::vector<std::size_t> agents;
  for (std::size_t i = 0; i < jobs.size(); ++i)
    if (key_of(jobs[i]) == key) agents.push_back(i);
  std::ranges::stable_sort(agents, std::greater<>{},
                           [&](std::size_t i) { return jobs[i].coordinator_here; });
  return agents;
}

}  // namespace

Result<std::vector<std::size_t>> choose_job(const std::vector<JobFacts>& jobs,
                                            const std::string& word) {
  if (jobs.empty())
    return Error{Error::Kind::kNotFound, "no job of this user runs on this machine"};
  const auto pid = parse_number<std::int64_t>(word);
  for (std::size_t i = 0; pid && i < jobs.size(); ++i)
    if (jobs[i].pid == *pid) return std::vector<std::size_t>{i};
  std::set<JobName> all;
  std::set<JobName> begins;
  std::set<JobName> exact;
  for (const JobFacts& job : jobs) {
    all.insert(key_of(job));
    if (job.run_id.starts_with(word)) begins.insert(key_of(job));
    if (job.run_id == word) exact.insert(key_of(job));
  }
  const std::set<JobName>& meant = exact.empty() ? begins : exact;
  if (meant.size() == 1) return agents_of(jobs, *meant.begin());
  if (meant.empty())
    return Error{Error::Kind::kNotFound, fmt::format("no running job begins with '{}'; there is {}",
                                                     plain_line(word), names_of(jobs, all))};
  return invalid(fmt::format("{}: which of {}? A process id says so, too",
                             word.empty() ? "several jobs run" : "several jobs are meant",
                             names_of(jobs, meant)));
}

}  // namespace ddprun
