// JobRegistry decides which job of `ddprun server` a node joins.
//
// It is pure: it knows the jobs by their run ids and terms, and nothing of connections. Server asks
// it about every Join, performs what it decides, and tells it which jobs have begun and ended. The
// rules are written down in docs/internals/rounds.md, section "Where the coordinator runs".
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <variant>

#include "base/clock.hpp"
#include "rendezvous/messages/job_terms.hpp"
#include "rendezvous/messages/membership_messages.hpp"
#include "rendezvous/service/server_limits.hpp"

namespace ddprun {

class JobRegistry {
 public:
  // clang-format off
  struct Enter {};                           // the node joins the job that has its run id
  struct Begin {};                           // no job has its run id: a new one begins
  struct Replace {};                         // the job of that run id ends, and a new one begins
  struct Refuse { std::string reason; };     // a sentence for the node's user
  // clang-format on
  using Decision = std::variant<Enter, Begin, Replace, Refuse>;

  explicit JobRegistry(ServerLimits limits = {}) : limits_{limits} {}

  /// Decides about a node that wants to join and comes from the address `from`. `has_nodes` says
  /// whether the job of its run id has nodes at this moment; it does not matter when there is no
  /// such job.
  Decision decide(const Join& join, const std::string& from, bool has_nodes) const;

  /// A job has begun after Begin or Replace. Its terms are those of its first node.
  void begun(const Join& first, const std::string& from);

  /// A job has ended. Its run id is free again.
  void ended(const std::string& run_id);

  /// Tells at `now` whether a job has nodes, and returns whether it is to end because it has had
  /// none for too long. Its nodes may all be gone for good, and then no node would end it.
  bool abandoned(const std::string& run_id, bool has_nodes, TimePoint now);

  std::size_t jobs() const { return jobs_.size(); }

 private:
  struct Hosted {
    JobTerms terms;
    std::string begun_from;
    std::optional<TimePoint> empty_since;
  };

  ServerLimits limits_;
  std::map<std::string, Hosted> jobs_;             // that have not ended, by their run ids
  std::map<std::string, std::size_t> begun_from_;  // how many of them, by address
};

}  // namespace ddprun
