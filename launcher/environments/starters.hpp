// Systems that start ddprun on each node and whose variables fit one table: who they are, and where
// they tell the nodes, the rank and the first host. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/environment.hpp"
#include "base/result.hpp"
#include "launcher/environments/host_lists.hpp"
#include "launcher/settings/launch.hpp"
#include "launcher/settings/meeting.hpp"

namespace ddprun {

/// Returns the text of a variable, "" where it is not set.
std::string text(const EnvironmentLookup& environment, const char* name);

/// Returns nullopt where it is not set, or is no number from 0 up.
std::optional<std::int64_t> number(const EnvironmentLookup& environment, const char* name);

/// Returns a number that texts rarely have in common: FNV-1a
/// (http://www.isthe.com/chongo/tech/comp/fnv).
std::uint64_t hash(const std::string& words);

/// Returns the coordinator's port in a job of that number, the same on all nodes.
std::uint16_t port_of(std::uint64_t job);

/// Says that `by` has started `count` ddprun on a node, and what to do about it.
Error too_many_here(const std::string& by, std::int64_t count, const std::string& advice);

/// A system that starts ddprun on each node, and the variables by which it tells where each is.
struct Starter {
  const char* by;
  const char* sign;        // the variable that those have whom it has started
  const char* job;         // the job's id
  const char* nodes;       // how many nodes; nullptr: as many as there are hosts
  const char* rank;        // the rank of this one; nullptr: its place among the hosts
  const char* host;        // this host, as the list calls it
  const char* processes;   // how many there are on all nodes together; nullptr: it does not tell
  const char* here;        // how many there are on this node; nullptr: it does not tell
  bool first_has_rank_0;   // whether the first of the hosts does
  const char* command;     // by which one starts on each node,
  const char* one_a_node;  // and its option for that
  Result<HostNames> (*hosts)(const LocalSystem& here);
};

extern const Starter kFlux;
extern const Starter kJsrun;
extern const Starter kPbs;
extern const Starter kSageMaker;

/// Returns this ddprun's place among those that `starter` has started. A list of hosts that cannot
/// be read leaves the first host open. Errors: kInvalid, when several have been started on this
/// node, or it is none of the hosts.
Result<ClusterPlace> place_by(const Starter& starter, const LocalSystem& here);

/// Whether pbsdsh has started this ddprun, rather than a batch script.
bool in_pbs_task(const EnvironmentLookup& environment);

/// Returns this pod's place among those of its indexed Job. A pod does not hear how many there are:
/// the manifest says it by PET_NNODES.
ClusterPlace kubernetes_place(const LocalSystem& here);

/// Returns the run id of a job: its id, but for what is not ASCII, as the first letter of Flux's.
std::string run_id_of(const std::string& job);

}  // namespace ddprun
