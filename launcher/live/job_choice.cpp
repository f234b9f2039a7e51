#include "launcher/live/job_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/numbers.hpp"
#include "base/text.hpp"

namespace ddprun {

namespace {

/// The run id of a job whose user gives none: torchrun's.
constexpr std::string_view kNoRunId = "none";

/// Agents of one job without a run id of its own name the same port of its coordinator, by whatever
/// name of its host.
using NameKey = std::pair<std::string, std::string>;
NameKey key_of(const JobFacts& facts) {
  return {facts.run_id, facts.coordinator.substr(facts.coordinator.rfind(':') + 1)};
}

std::vector<std::size_t> agents_of(const std::vector<JobFacts>& jobs, const NameKey& key) {
  std::vector<std::size_t> agents;
  for (std::size_t i = 0; i < jobs.size(); ++i)
    if (key_of(jobs[i]) == key) agents.push_back(i);
  std::ranges::stable_sort(agents, std::greater<>{},
                           [&](std::size_t i) { return jobs[i].coordinator_here; });
  return agents;
}

std::string names_of(const std::vector<JobFacts>& jobs, const std::set<NameKey>& keys) {
  const std::vector<std::string> names = job_names(jobs);
  std::string text;
  for (std::size_t i = 0; i < jobs.size(); ++i)
    if (keys.contains(key_of(jobs[i])))
      text += fmt::format("{}'{}' (process {})", text.empty() ? "" : ", ", plain_line(names[i]),
                          jobs[i].pid);
  return text;
}

}  // namespace

std::vector<std::string> job_names(const std::vector<JobFacts>& jobs) {
  std::vector<std::string> names;
  for (const JobFacts& job : jobs) {
    const JobFacts& first = jobs[agents_of(jobs, key_of(job)).front()];
    const std::string script = first.title.substr(first.title.rfind('/') + 1);
    names.push_back(job.run_id == kNoRunId ? fmt::format("{}-{}", script, first.pid) : job.run_id);
  }
  return names;
}

Result<std::vector<std::size_t>> choose_job(const std::vector<JobFacts>& jobs,
                                            const std::string& word) {
  if (jobs.empty())
    return Error{Error::Kind::kNotFound, "no job of this user runs on this machine"};
  const auto pid = parse_number<std::int64_t>(word);
  for (std::size_t i = 0; pid && i < jobs.size(); ++i)
    if (jobs[i].pid == *pid) return std::vector<std::size_t>{i};
  const std::vector<std::string> names = job_names(jobs);
  std::set<NameKey> all;
  std::set<NameKey> begins;
  std::set<NameKey> exact;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const NameKey key = key_of(jobs[i]);
    all.insert(key);
    for (const std::string& name : {jobs[i].run_id, names[i]}) {
      if (name.starts_with(word)) begins.insert(key);
      if (name == word) exact.insert(key);
    }
  }
  const std::set<NameKey>& meant = exact.empty() ? begins : exact;
  if (meant.size() == 1) return agents_of(jobs, *meant.begin());
  if (meant.empty())
    return Error{Error::Kind::kNotFound, fmt::format("no running job begins with '{}'; running: {}",
                                                     plain_line(word), names_of(jobs, all))};
  return invalid(fmt::format("{}: name one of {}, or its process id",
                             word.empty() ? "several jobs run" : "several jobs are meant",
                             names_of(jobs, meant)));
}

}  // namespace ddprun
