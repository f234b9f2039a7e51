// JobBook decides which job of `ddprun server` a node joins.
//
// It is pure: it knows the jobs by their run ids and terms, and nothing of connections. Server asks
// it about every Join, performs what it decides, and tells it which jobs have begun and ended. The
// rules are written down in docs/protocol.md, section "Where the coordinator runs".
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <variant>

#include "rendezvous/wire/job_terms.hpp"
#include "rendezvous/wire/messages.hpp"

namespace ddprun {

/// Beyond so many jobs at one time, `ddprun server` refuses new ones.
inline constexpr std::size_t kJobsMax = 10'000;

class JobBook {
 public:
  // clang-format off
  struct Enter {};                           // the node joins the job that has its run id
  struct Begin {};                           // no job has its run id: a new one begins
  struct Replace {};                         // the job of that run id ends, and a new one begins
  struct Refuse { std::string reason; };     // a sentence for the node's user
  // clang-format on
  using Decision = std::variant<Enter, Begin, Replace, Refuse>;

  /// Decides about a node that wants to join. `has_nodes` says whether the job of its run id has
  /// nodes at this moment; it does not matter when there is no such job.
  Decision decide(const Join& join, bool has_nodes) const;

  /// A job has begun after Begin or Replace. Its terms are those of its first node.
  void begun(const Join& first) { terms_[first.run_id] = first.terms; }

  /// A job has ended. Its run id is free again.
  void ended(const std::string& run_id) { terms_.erase(run_id); }

  std::size_t jobs() const { return terms_.size(); }

 private:
  std::map<std::string, JobTerms> terms_;  // of every job that has not ended, by its run id
};

}  // namespace ddprun
