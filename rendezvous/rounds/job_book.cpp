#include "rendezvous/rounds/job_book.hpp"

namespace ddprun {

JobBook::Decision JobBook::decide(const Join& join, bool has_nodes) const {
  const auto job = terms_.find(join.run_id);
  if (job == terms_.end()) {
    if (terms_.size() < kJobsMax) return Begin{};
    return Refuse{"this server hosts " + std::to_string(kJobsMax) + " jobs already"};
  }
  // A job with nodes compares the terms itself, and says to the user which option differs. A job
  // without nodes has nobody left who could want the old terms.
  if (has_nodes || job->second == join.terms) return Enter{};
  return Replace{};
}

}  // namespace ddprun
