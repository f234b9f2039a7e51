#include "rendezvous/service/job_registry.hpp"

namespace ddprun {

JobRegistry::Decision JobRegistry::decide(const Join& join, const std::string& from,
                                          bool has_nodes) const {
  const auto job = jobs_.find(join.run_id);
  if (job == jobs_.end()) {
    if (jobs_.size() >= limits_.jobs_max)
      return Refuse{"this server hosts " + std::to_string(limits_.jobs_max) + " jobs already"};
    const auto others = begun_from_.find(from);
    if (others != begun_from_.end() && others->second >= limits_.jobs_per_address_max)
      return Refuse{"this server hosts " + std::to_string(limits_.jobs_per_address_max) +
                    " jobs already that were begun from " + from};
    return Begin{};
  }
  // A job with nodes compares the terms itself, and says to the user which option differs. A job
  // without nodes has none left that could want the old terms.
  if (has_nodes || job->second.terms == join.terms) return Enter{};
  return Replace{};
}

void JobRegistry::begun(const Join& first, const std::string& from) {
  ended(first.run_id);  // the one that it takes the place of
  jobs_[first.run_id] = {first.terms, from, std::nullopt};
  ++begun_from_[from];
}

void JobRegistry::ended(const std::string& run_id) {
  const auto job = jobs_.find(run_id);
  if (job == jobs_.end()) return;
  const auto from = begun_from_.find(job->second.begun_from);
  if (--from->second == 0) begun_from_.erase(from);
  jobs_.erase(job);
}

bool JobRegistry::abandoned(const std::string& run_id, bool has_nodes, TimePoint now) {
  const auto job = jobs_.find(run_id);
  if (job == jobs_.end()) return false;
  auto& since = job->second.empty_since;
  if (has_nodes)
    since.reset();
  else if (!since)
    since = now;
  return since && now - *since >= limits_.empty_job_kept;
}

}  // namespace ddprun
