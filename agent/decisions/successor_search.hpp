// SuccessorSearch: where a node asks for the successor of a coordinator that is lost. Pure.
//
// If the nodes elect the successor, one of them is asked after the other. If a registry such as
// etcd says which node coordinates, it is asked again and again. The rules say which search it is,
// and only make_successor_search() reads that. docs/internals/succession.md.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "agent/decisions/agent_state.hpp"
#include "agent/decisions/turns.hpp"
#include "base/clock.hpp"

namespace ddprun {

/// What ReachCoordinator says of the place that is tried.
struct Attempt {
  std::string place;  // its `at`
  Patience patience;
  std::chrono::milliseconds pause{};
};

class SuccessorSearch {
 public:
  /// Where to look next, or how the agent ends because no leader was found in time.
  using Next = std::variant<Attempt, AgentEnd>;

  SuccessorSearch() = default;
  virtual ~SuccessorSearch() = default;
  SuccessorSearch(const SuccessorSearch&) = delete;
  SuccessorSearch& operator=(const SuccessorSearch&) = delete;

  /// The places with which the search begins, in their order.
  virtual std::vector<std::string> places() const = 0;
  /// Goes on with `turns`. The first tries have that `pause`, because connections may have been
  /// lost soon before.
  virtual Next next(Turns& turns, std::chrono::milliseconds pause, TimePoint now) const = 0;
  /// Whether a candidate whose connection has ended is tried once more before the next place.
  virtual bool repeats_lost_candidate() const = 0;
  /// Whether a newcomer that has found no leader at a place goes on with next(), too. Otherwise it
  /// looks around at the job's places.
  virtual bool guides_newcomers() const = 0;
};

/// Makes the search that the agent's rules ask for; `agent` must outlive it.
std::unique_ptr<SuccessorSearch> make_successor_search(const AgentState& agent);

}  // namespace ddprun
